package transition

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
)

// TestEveryChangeIsWritten: each field of Changes belongs to a kind, which Any checks and a Writer writes. At and Claim
// belong to other fields.
func TestEveryChangeIsWritten(t *testing.T) {
	t.Parallel()
	typ := reflect.TypeFor[Changes]()
	all := slices.Concat(kinds[:], budgetKinds[:])
	for i := range typ.NumField() {
		name := typ.Field(i).Name
		if name == "At" || name == "Claim" {
			continue
		}
		var c Changes
		field := reflect.ValueOf(&c).Elem().Field(i)
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int64:
			field.SetInt(1)
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		default:
			t.Fatalf("%s is a %s, which no kind of changes supports", name, field.Type())
		}
		if !c.Any() {
			t.Errorf("Any overlooks %s", name)
		}
		of := slices.IndexFunc(all, func(k kind) bool { return slices.Contains(strings.Fields(k.field), name) })
		if name != "Head" && (of < 0 || !all[of].some(&c)) {
			t.Errorf("%s has no kind", name)
		}
	}
}

// TestWriterHasNothingElse: each method of Writer writes one kind of changes.
func TestWriterHasNothingElse(t *testing.T) {
	t.Parallel()
	if want, got := reflect.TypeFor[Writer]().NumMethod(), 1+len(kinds)+len(budgetKinds); want != got {
		t.Errorf("Writer has %d methods for %d kinds of changes", want, got)
	}
	var c Changes
	if c.Any() || (&Head{Session: parley.Session{}}).Write(nil) != nil {
		t.Error("empty changes have something to write")
	}
}
