-- schema: where numbers come from, in a schema of this program's own.
CREATE TABLE id_segments (name text PRIMARY KEY, next bigint NOT NULL, second bigint NOT NULL, secret bigint NOT NULL);
