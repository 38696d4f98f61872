package storetest

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	entgo "entgo.io/ent"
	"github.com/google/go-cmp/cmp"
)

// FillRow sets the columns that the mutation does not set yet to distinct values, except the id.
// columns are those of the entity.
func FillRow(tb testing.TB, m entgo.Mutation, entity any, columns []string) {
	tb.Helper()
	fields := columnsOf(entity)
	if len(fields) != len(columns) {
		tb.Fatalf("got %d fields of %T, want %d columns", len(fields), entity, len(columns))
	}
	for i, column := range columns {
		if _, set := m.Field(column); set || column == "id" {
			continue
		}
		var of reflect.Type
		for name, field := range fields {
			if strings.EqualFold(name, strings.ReplaceAll(column, "_", "")) {
				of = field.Type()
			}
		}
		if of == nil {
			tb.Fatalf("got no field of %T for column %s", entity, column)
		}
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		value := reflect.New(of).Elem()
		switch {
		case of == reflect.TypeFor[time.Time]():
			value.Set(reflect.ValueOf(time.Date(2001, 2, 3, 4, 5, 1+i, 0, time.UTC)))
		case value.CanInt():
			value.SetInt(int64(1001 + i))
		case value.CanFloat():
			value.SetFloat(1.25 * float64(1+i))
		case of.Kind() == reflect.String:
			value.SetString("a " + column)
		case of.Kind() == reflect.Bool:
			value.SetBool(true)
		}
		if err := m.SetField(column, value.Interface()); err != nil {
			tb.Fatal(err)
		}
	}
}

// CheckRow checks that got, read by a service, has the values of a row filled by [FillRow]. Each
// field of got must equal the column of its name. row is a pointer to an entity. converted holds the
// expected values of fields with another name or type. unread names the columns that the service
// does not read.
//
// A new column or field fails the test until the service reads it, or the test lists it.
func CheckRow(tb testing.TB, row, got any, converted map[string]any, unread ...string) {
	tb.Helper()
	columns, read := columnsOf(reflect.ValueOf(row).Elem().Interface()), map[string]reflect.Value{}
	leaves(reflect.ValueOf(got), read)
	seen := map[any]string{}
	for name, column := range columns {
		_, other := converted[name]
		field, same := read[name]
		switch {
		case column.IsZero():
			tb.Errorf("column %s is zero: fill it", name)
		case seen[plain(column)] != "":
			tb.Errorf("columns %s and %s are equal: the test cannot detect a swap", name, seen[plain(column)])
		case other, slices.Contains(unread, name):
		case !same:
			tb.Errorf("%T has no field for column %s", got, name)
		case !cmp.Equal(plain(column), plain(field)):
			tb.Errorf("%s: got %v, want %v", name, plain(field), plain(column))
		}
		seen[plain(column)] = name
	}
	for name, field := range read {
		want, other := converted[name]
		_, same := columns[name]
		switch {
		case field.IsZero():
			tb.Errorf("field %s is zero", name)
		case other:
			if d := cmp.Diff(want, field.Interface()); d != "" {
				tb.Errorf("%s (-want +got)\n%s", name, d)
			}
		case !same:
			tb.Errorf("%T has no column for field %s", row, name)
		}
	}
	for _, name := range unread {
		if _, is := columns[name]; !is {
			tb.Errorf("%T has no column %s", row, name)
		}
	}
}

// columnsOf returns the fields of an entity that are columns.
func columnsOf(entity any) map[string]reflect.Value {
	fields, v := map[string]reflect.Value{}, reflect.ValueOf(entity)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && f.Name != "Edges" {
			fields[f.Name] = v.Field(i)
		}
	}
	return fields
}

// leaves adds the exported fields of a struct and its nested structs, except those tagged json:"-".
func leaves(v reflect.Value, into map[string]reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case !f.IsExported() || f.Tag.Get("json") == "-":
		case f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[time.Time]():
			leaves(v.Field(i), into)
		default:
			into[f.Name] = v.Field(i)
		}
	}
}

// plain dereferences a pointer and converts a named type to its basic type.
func plain(v reflect.Value) any {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanFloat():
		return v.Float()
	case v.Kind() == reflect.String:
		return v.String()
	default:
		return v.Interface()
	}
}
