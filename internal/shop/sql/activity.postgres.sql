-- activity: counts the recent activity of shops by day.
--
-- $1  a JSON array of shop ids
-- $2  first day, in days since 1970
-- $3  first day as yyyymmdd
--
-- returns  shop; kind; day, in days since 1970, of a visit as yyyymmdd; number
SELECT shop_id, 'rating', updated_at / 86400000, count(*) FROM ratings
WHERE shop_id = ANY (ARRAY(SELECT json_array_elements_text($1)::bigint)) AND updated_at >= $2::bigint * 86400000
GROUP BY 1, 3
UNION ALL
SELECT target_id, 'save', created_at / 86400000, count(*) FROM saves
WHERE kind = 'SHOP' AND target_id = ANY (ARRAY(SELECT json_array_elements_text($1)::bigint)) AND created_at >= $2::bigint * 86400000
GROUP BY 1, 3
UNION ALL
SELECT shop_id, 'note', created_at / 86400000, count(*) FROM notes
WHERE shop_id = ANY (ARRAY(SELECT json_array_elements_text($1)::bigint)) AND deleted_at IS NULL AND created_at >= $2::bigint * 86400000
GROUP BY 1, 3
UNION ALL
SELECT shop_id, 'visit', day, uniques FROM visit_days
WHERE shop_id = ANY (ARRAY(SELECT json_array_elements_text($1)::bigint)) AND day >= $3
