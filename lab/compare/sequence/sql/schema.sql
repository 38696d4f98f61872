-- schema: create the sequences, in a schema of this program.
CREATE TABLE id_segments (name text PRIMARY KEY, next bigint NOT NULL, second bigint NOT NULL, secret bigint NOT NULL);
