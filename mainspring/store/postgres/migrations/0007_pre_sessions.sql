-- Whose worker it is; null: it works for the whole installation.
SET LOCAL lock_timeout = '5s';
SET LOCAL statement_timeout = '10min';

ALTER TABLE mainspring.workers ADD COLUMN tenant text;
