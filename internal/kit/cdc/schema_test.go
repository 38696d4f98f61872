package cdc

import (
	"context"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// A Reader reads tables in the current_schema of the pool's connections. Readers in
// several schemas of one database have their own slots and publications, and get only
// their own tables.
func TestReadersInSchemasGetTheirOwnTables(t *testing.T) {
	dsn := testkit.Postgres(t) + "&synchronous_commit=on"
	in := open(t, dsn)
	in.exec(t, `CREATE SCHEMA town; CREATE SCHEMA "Zwei Städte"; CREATE SCHEMA options; CREATE ROLE its_own LOGIN SUPERUSER;
		CREATE SCHEMA its_own AUTHORIZATION its_own; CREATE SCHEMA of_the_role; CREATE ROLE by_role LOGIN SUPERUSER;
		ALTER ROLE by_role SET search_path = of_the_role, public`)
	t.Cleanup(func() {
		if _, err := in.db.ExecContext(context.Background(), `DROP OWNED BY its_own, by_role; DROP ROLE its_own, by_role`); err != nil {
			t.Error(err)
		}
	})
	as := func(role string) string {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.User(role)
		return u.String()
	}
	type reader struct {
		at         database
		deliveries *recorder
	}
	readers := map[string]reader{}
	for schema, dsn := range map[string]string{
		"public":      dsn,
		"town":        dsn + "&search_path=town,public",
		"Zwei Städte": dsn + "&search_path=" + url.QueryEscape(`"Zwei Städte"`),
		"options":     dsn + "&options=" + url.QueryEscape("-csearch_path=options"),
		"its_own":     as("its_own"),
		"of_the_role": as("by_role"),
	} {
		r := reader{newDatabaseAt(t, dsn), new(recorder)}
		if got := r.at.text(t, `SELECT current_schema()`); got != schema {
			t.Fatalf("got tables in %q, want %q", got, schema)
		}
		r.at.runActive(t, r.deliveries.options(r.at))
		readers[schema] = r
	}
	key := map[string]string{}
	for schema, r := range readers {
		key[schema] = "the id in " + schema
		r.at.exec(t, `WITH job AS (INSERT INTO outbox (id) VALUES (1)) INSERT INTO "Users" (id) VALUES ('a change with a job')`)
		r.at.exec(t, `INSERT INTO "Users" (id) VALUES ($1)`, key[schema])
	}
	for schema, r := range readers {
		r.deliveries.await(t, "Users:"+key[schema])
		if diff := cmp.Diff([]string{"missed", "Users:" + key[schema]}, r.deliveries.all()); diff != "" {
			t.Errorf("in %s: %s", schema, diff)
		}
		if reason, ok, err := Check(t.Context(), r.at.db); !ok || err != nil {
			t.Errorf("Check in %s: got %q, %v", schema, reason, err)
		}
	}
	if got, want := in.text(t, `SELECT string_agg(slot_name, ' ' ORDER BY length(slot_name), slot_name) FROM pg_replication_slots WHERE database = current_database() AND NOT temporary`),
		in.text(t, `SELECT string_agg('tandian_' || d.oid || s, ' ' ORDER BY length(s), s) FROM pg_database d,
			(SELECT CASE nspname WHEN 'public' THEN '' ELSE '_' || oid END FROM pg_namespace
			 WHERE nspname IN ('public', 'town', 'Zwei Städte', 'options', 'its_own', 'of_the_role')) AS n(s)
			WHERE datname = current_database()`); got != want {
		t.Errorf("got slots %s, want %s", got, want)
	}
}
