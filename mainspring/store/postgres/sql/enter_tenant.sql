-- Until the transaction ends: one tenant, and the role that sees no other.
SELECT
    set_config('mainspring.tenant', :tenant::text, true) AS tenant,
    set_config('role', 'mainspring_tenant', true) AS acting_as;
