-- The book of applied steps; it is there before the first step.
CREATE TABLE IF NOT EXISTS mainspring.migrations (
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL,
    by_version text NOT NULL,
    CONSTRAINT migrations_pkey PRIMARY KEY (name)
);
