INSERT INTO operations (id, tenant, state, step_at, record)
VALUES (:id, :tenant, :state, :now, :record);
