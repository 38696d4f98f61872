--  totals: read a page of balances in id order, each with the sum of its entries.
--
--  $1  last id of the previous page
--  $2  page size
--
--  returns  id of the user, balance, sum of the entries
--
--  One statement reads both, so a concurrent payment cannot make them differ. The text fits
--  both dialects. It reads the index balanceentry_user_id_id.
SELECT b.id, b.amount,
       (SELECT coalesce(sum(e.amount), 0) FROM balance_entries e WHERE e.user_id = b.id)
FROM balances b
WHERE b.id > $1
ORDER BY b.id
LIMIT $2
