package sqldb

import (
	"errors"
	"slices"
	"strings"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/tandian-dev/tandian/internal/kit/connect"
)

// sqlRemedy reports whether an error of connecting to Postgres is permanent: retrying cannot fix it.
// The advice continues the error text and may be empty. If err joins the errors of several hosts, all
// of them must be permanent.
func sqlRemedy(err error) (advice string, ok bool) {
	if errors.Is(err, errPooled) {
		return "", true
	}
	for _, err := range leaves(err) {
		if advice, ok = sqlRemedyOfOne(err); !ok {
			return "", false
		}
	}
	return advice, ok
}

// leaves returns the errors that err joins.
func leaves(err error) []error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if joined, ok := e.(interface{ Unwrap() []error }); ok {
			var all []error
			for _, e := range joined.Unwrap() {
				all = append(all, leaves(e)...)
			}
			return all
		}
	}
	return []error{err}
}

func sqlRemedyOfOne(err error) (advice string, ok bool) {
	if errors.Is(err, pq.ErrSSLNotSupported) {
		return "; add sslmode=disable to the database URL (…?sslmode=disable) to connect without TLS, or enable ssl on the server", true
	}
	if advice, ok := connect.TLSRemedy(err); ok {
		return advice + "; in the database URL, sslrootcert=FILE names a CA, and sslmode=require encrypts without verifying", true
	}
	server, ok := errors.AsType[*pq.Error](err)
	if !ok {
		return "", false
	}
	return sqlStateRemedy(server)
}

// sqlStateRemedy is sqlRemedy for an error reply of the server or of a pooler.
func sqlStateRemedy(err *pq.Error) (advice string, ok bool) {
	switch err.Code {
	case pqerror.InvalidPassword:
		return "; correct the user and the password in the database URL (in a URL, special characters are written as %XX)", true
	case pqerror.InvalidAuthorizationSpecification:
		return "; create the role, or add a line to pg_hba.conf that admits it from this address to this database " +
			"(a hostssl line needs sslmode=require in the database URL, a hostnossl line sslmode=disable)", true
	case pqerror.InvalidCatalogName:
		return "; create the database (CREATE DATABASE … OWNER …), or correct its name in the database URL", true
	case pqerror.InsufficientPrivilege:
		return "; grant the role what is missing (GRANT CONNECT ON DATABASE … TO …)", true
	case pqerror.UndefinedObject, pqerror.InvalidParameterValue:
		return "; correct the parameters after the ? in the database URL", true
	case pqerror.ProtocolViolation:
		return poolerRemedy(err.Message)
	}
	// Transient SQLSTATE classes: connections, transaction rollback, resources, object state,
	// operator intervention, system errors, internal errors.
	transient := []string{"08", "25", "40", "53", "55", "57", "58", "XX"}
	return "", !slices.Contains(transient, string(err.Code[:min(2, len(err.Code))]))
}

// migrationRemedy returns advice for an error of a migration, or "".
func migrationRemedy(err error) string {
	switch SQLState(err) {
	case string(pqerror.InsufficientPrivilege):
		return "; the role must own the database, or have the right to create in the schema (GRANT USAGE, CREATE ON SCHEMA … TO …) and own its tables"
	case string(pqerror.InvalidSchemaName):
		return "; create the schema that search_path names (CREATE SCHEMA … AUTHORIZATION …)"
	case string(pqerror.ReadOnlySQLTransaction):
		return "; the server is a standby or read-only: name the primary in the database URL"
	}
	return ""
}

// poolerRemedy is sqlRemedy for poolers. They use one code for most errors, and English texts.
func poolerRemedy(text string) (advice string, ok bool) {
	switch {
	case strings.Contains(text, "unsupported startup parameter"):
		return "; remove this parameter from the database URL, or allow it in the pooler (PgBouncer: ignore_startup_parameters)", true
	case strings.Contains(text, "no such database"):
		return "; add the database to the pooler, or correct its name in the database URL", true
	case strings.Contains(text, "no such user"), strings.Contains(text, "authentication failed"):
		return "; correct the user and the password in the database URL, or add them to the pooler", true
	}
	return "", false
}
