-- schema: what the work and the locks in the database need, in a schema of their
-- own, which search_path names. There is no unique index on orders: the lock is
-- to be what keeps them apart.
CREATE TABLE vouchers (name text PRIMARY KEY);

CREATE TABLE orders (name text NOT NULL);

CREATE TABLE lock_rows (
  name       text PRIMARY KEY,
  owner      text NOT NULL,
  expires_at timestamptz NOT NULL
);

CREATE TABLE lock_fences (
  name          text PRIMARY KEY,
  token         bigint NOT NULL,
  registered_at bigint NOT NULL
);
