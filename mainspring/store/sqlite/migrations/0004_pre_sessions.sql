-- Whose worker it is; null: it works for the whole installation.
ALTER TABLE workers ADD COLUMN tenant text;
