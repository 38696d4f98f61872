-- publication_alter: publish the changes of these tables, and of no others.
--
-- {publication}  quoted name of the publication
-- {tables}       quoted names of tables, with their schema
--
-- Needs the ownership of the publication and of the tables. Takes a lock on each that
-- goes with reads and writes, but not with other changes of its definition.
ALTER PUBLICATION {publication} SET TABLE {tables};
ALTER PUBLICATION {publication} SET (publish = 'insert, update, delete, truncate')
