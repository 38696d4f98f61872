package app_test

import (
	"regexp"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/clients"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// It runs the official audits of GraphQL over HTTP, Apollo Client and urql.
func TestClients(t *testing.T) {
	t.Parallel()
	node := clients.Node(t, "../kit/gqlserver/clients")
	s := apptest.Embedded(t).Start(t)
	merchant := regexp.MustCompile(`merchant +phone (\S+) +password (\S+)`).FindStringSubmatch(s.Out.String())
	if merchant == nil {
		t.Fatalf("the terminal shows no merchant:\n%s", s.Out)
	}
	for _, program := range []string{"audits.test.mjs", "server.test.mjs"} {
		t.Run(program, func(t *testing.T) {
			node.Run(t, program, "TANDIAN_DOOR="+s.URL+"/graphql", "TANDIAN_PHONE="+merchant[1], "TANDIAN_PASSWORD="+merchant[2])
		})
	}
}
