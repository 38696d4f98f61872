-- places: read the locations of random shops, so most are in towns.
--
-- $1  number of shops
--
-- returns  latitude, longitude
SELECT lat, lng FROM shops ORDER BY md5(id::text) LIMIT $1
