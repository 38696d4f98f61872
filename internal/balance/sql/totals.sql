-- Balances with ids above $1, in id order, each with the sum of its entries.
--
-- $1 the last id of the previous page, $2 the maximum number of rows
-- returns the user's id, the balance, the sum of the entries
--
-- One statement reads both, so a payment that commits meanwhile cannot make them differ.
-- One text for both dialects. It reads the index balanceentry_user_id_id.
SELECT b.id, b.amount,
       (SELECT coalesce(sum(e.amount), 0) FROM balance_entries e WHERE e.user_id = b.id)
FROM balances b
WHERE b.id > $1
ORDER BY b.id
LIMIT $2
