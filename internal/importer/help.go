package importer

import (
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/internal/shop"
)

// Help describes the files that [Import] reads, in lines of at most 100 columns.
func Help() string {
	formats := cmdline.Table(
		cmdline.Row{Name: "Overpass JSON", Text: `of OpenStreetMap, with [out:json] and "out center"`},
		cmdline.Row{Name: "GeoJSON", Text: "a FeatureCollection; its properties are tags of OpenStreetMap or the columns of a CSV"},
		cmdline.Row{Name: "CSV", Text: "cells between commas, semicolons or tabs; UTF-8, or UTF-16 with a byte order mark"},
	)
	var columns []cmdline.Row
	for _, column := range csvColumns() {
		text := column.help
		switch {
		case column.required && text == "":
			text = "required"
		case column.required:
			text = "required: " + text
		}
		columns = append(columns, cmdline.Row{Name: column.name, Text: text})
	}
	return "Formats, recognized by their content:\n" + formats + `
Columns of a CSV file. The first line names them, in any order:
` + cmdline.Table(columns...) + `
Ids: node/42 of OpenStreetMap, an id with a prefix like own:42, a URL, a UUID and a Wikidata item
are globally unique. Others, like 42, are unique in their data set only. Such a data set needs
--source, with the same NAME for each import.

One transaction stores all files. After an error, nothing is stored. The import reports and skips
records that it cannot use. It does not change shops that have an owner.`
}

// typeKeys returns the keys of the shop types.
func typeKeys() []string {
	var keys []string
	for _, kind := range shop.Catalogue() {
		keys = append(keys, kind.Key)
	}
	return keys
}
