SELECT pg_notify('mainspring', :payload::text);
