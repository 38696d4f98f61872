-- +goose Up
-- Searches match any part of a shop's name, area or address. A trigram index cannot
-- support two characters, which can be a whole word in Chinese. So the index contains
-- every character and every pair of neighbours. A query looks up its own pairs and then
-- rechecks the rows (internal/shop/search.go).
-- +goose StatementBegin
CREATE FUNCTION tandian_grams(s text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 800 -- about 15 µs per row: the planner should not filter by it
RETURN (
    SELECT c || ARRAY(SELECT a || b FROM unnest(c, c[2:]) AS pair (a, b) WHERE b IS NOT NULL)
    FROM (SELECT string_to_array(s, NULL) AS c) AS characters
);
-- +goose StatementEnd
-- create index "shop_search_grams" to table: "shops"
CREATE INDEX "shop_search_grams" ON "shops" USING gin (tandian_grams("search"));

-- +goose Down
DROP INDEX "shop_search_grams";
DROP FUNCTION tandian_grams(text);
