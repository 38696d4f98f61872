-- schema: create the tables of the work and of the locks in a schema of their own, which
-- search_path names. The unique index of orders counts only for the scheme that sets one_per_user:
-- elsewhere the lock alone must prevent a second order.
CREATE TABLE vouchers (name text PRIMARY KEY);

CREATE TABLE orders (
  name         text NOT NULL,
  one_per_user boolean NOT NULL DEFAULT false
);

CREATE UNIQUE INDEX ON orders (name) WHERE one_per_user;

CREATE TABLE lock_rows (
  name       text PRIMARY KEY,
  owner      text NOT NULL,
  expires_at timestamptz NOT NULL
);

CREATE TABLE lock_fences (
  name  text PRIMARY KEY,
  token bigint NOT NULL
);
