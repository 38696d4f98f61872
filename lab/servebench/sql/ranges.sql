-- ranges: read the ids of the users and those of the first notes, which must be consecutive.
--
-- $1  maximum number of notes
--
-- returns  first user, last user, count of users, first note, last note, count of notes
SELECT u.first, u.last, u.total, n.first, n.last, n.total
FROM (SELECT min(id) AS first, max(id) AS last, count(*) AS total FROM users) AS u,
  (SELECT min(id) AS first, max(id) AS last, count(*) AS total
   FROM (SELECT id FROM note_counts WHERE NOT deleted ORDER BY id LIMIT $1) AS notes) AS n
