-- places: where some shops are, drawn over all of them: so most are in towns.
--
-- $1  how many
--
-- returns  latitude, longitude
SELECT lat, lng FROM shops ORDER BY md5(id::text) LIMIT $1
