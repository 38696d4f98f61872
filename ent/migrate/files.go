// Package migrate is the versioned SQL of both dialects.
package migrate

import (
	"embed"
	"io/fs"
)

// Written by hand, unlike its neighbours: the versioned migrations that
// `make migration` writes and that are never edited after a release.
//
//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// Files returns the versioned migrations of an ent dialect ("postgres" or "sqlite3").
func Files(dialect string) (fs.FS, error) {
	if dialect == "sqlite3" {
		dialect = "sqlite"
	}
	return fs.Sub(files, dialect)
}
