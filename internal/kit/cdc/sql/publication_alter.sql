-- publication_alter: publish the changes of these tables, and of no others.
--
-- {publication}  quoted name of the publication
-- {tables}       quoted names of tables, with their schema
--
-- Needs ownership of the publication and of the tables. Locks each table: this allows reads
-- and writes, but no other change of its definition.
ALTER PUBLICATION {publication} SET TABLE {tables};
ALTER PUBLICATION {publication} SET (publish = 'insert, update, delete, truncate')
