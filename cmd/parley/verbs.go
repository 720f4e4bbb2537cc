package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/parley"
	"example.org/parley/client"
)

// This file holds what the generated verbs use: values of flags, pages of lists, tables.

// table says how to print rows of a list.
type table[T any] struct {
	titles []string
	row    func(*T) []string
}

// paging says which part of a list to print.
type paging struct {
	limit  int // rows; 0: all
	all    bool
	cursor string

	command *cobra.Command // whose flags these are
}

// addSets adds to a command the flag --set, for what has no flag of its own.
func addSets(command *cobra.Command) *[]string {
	return command.Flags().StringArray("set", nil,
		"FIELD=VALUE of the API's body, VALUE as JSON or as text (repeatable); a.b=VALUE sets a member of an object")
}

// applySets sets fields of an input or a patch.
func applySets(sets []string, input any) error {
	for _, set := range sets {
		path, text, ok := strings.Cut(set, "=")
		if !ok || path == "" {
			return parley.InvalidField("set", "%q is not FIELD=VALUE", parley.Clip(set, maxCell))
		}
		value := json.RawMessage(text)
		if !json.Valid(value) {
			value = parley.AppendJSONString(nil, text)
		}
		names := strings.Split(path, ".")
		for _, name := range slices.Backward(names) {
			value = slices.Concat([]byte{'{'}, parley.AppendJSONString(nil, name), []byte{':'}, value, []byte{'}'})
		}
		decoder := json.NewDecoder(bytes.NewReader(value))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(input); err != nil {
			return parley.InvalidField("set", "%s: %s", parley.Clip(set, maxCell),
				strings.TrimPrefix(err.Error(), "json: "))
		}
	}
	return nil
}

// addPaging adds to a command the flags that choose a part of its list.
func addPaging(command *cobra.Command, most int) *paging {
	p := &paging{command: command}
	usage := "number of rows; all by default"
	if most > 0 {
		usage = "number of rows; 0: all"
	}
	command.Flags().IntVar(&p.limit, "limit", most, usage)
	command.Flags().BoolVar(&p.all, "all", false, "all rows, however many there are")
	command.MarkFlagsMutuallyExclusive("all", "limit")
	command.Flags().StringVar(&p.cursor, "cursor", "", "continue where an earlier list ended; it printed the cursor")
	return p
}

// pageOf reads as many rows of a list as p asks for, however many the server puts on a page.
func pageOf[T any](p *paging, ask func(limit int, cursor string) (client.Page[T], error)) (client.Page[T], error) {
	if p.limit < 0 {
		return client.Page[T]{}, misused(p.command, "--limit is a number of rows, 0 or more")
	}
	if p.all {
		p.limit = 0
	}
	out := client.Page[T]{Data: []T{}, Next: p.cursor}
	for {
		limit := parley.MaxPage
		if p.limit > 0 {
			limit = min(limit, p.limit-len(out.Data))
		}
		got, err := ask(limit, out.Next)
		if err != nil {
			return out, err
		}
		out.Data, out.Next = append(out.Data, got.Data...), got.Next
		if out.Next == "" || p.limit > 0 && len(out.Data) >= p.limit {
			return out, nil
		}
	}
}

// pageWith is the page in an answer that says more than a page does.
func pageWith[T any](rows []T, next *string) client.Page[T] {
	page := client.Page[T]{Data: rows}
	if next != nil {
		page.Next = *next
	}
	return page
}

// printPage prints rows as a table, and the cursor of the next page, or both as JSON in the form of the API's lists.
func printPage[T any](t terminal, shared *flags, page *client.Page[T], shown table[T]) error {
	if shared.json {
		whole := jsonPage[T]{Data: page.Data}
		if page.Next != "" {
			whole.Next = &page.Next
		}
		return t.printJSON(whole)
	}
	rows := make([][]string, len(page.Data))
	for i := range page.Data {
		rows[i] = shown.row(&page.Data[i])
	}
	return t.printRows(shown.titles, rows, page.Next)
}

// printRows prints a table, and the cursor of its next page.
func (t terminal) printRows(titles []string, rows [][]string, next string) error {
	err := t.printTable(titles, rows)
	if err == nil && next != "" {
		_, err = fmt.Fprintln(t.err, "There is more: --cursor", next)
	}
	return err
}

// withSlugs prints some columns, which are agents' ids, as slugs. An agent that cannot be read keeps its id.
func withSlugs[T any](ctx context.Context, server *client.Client, shown table[T], columns ...int) table[T] {
	known := map[string]string{"-": "-", aPerson: aPerson}
	return table[T]{titles: shown.titles, row: func(row *T) []string {
		cells := shown.row(row)
		for _, i := range columns {
			slug, found := known[cells[i]]
			if !found {
				slug = cells[i]
				if agent, err := server.Agent(ctx, slug); err == nil {
					slug = agent.Slug
				}
				known[cells[i]] = slug
			}
			cells[i] = slug
		}
		return cells
	}}
}

// jsonPage is a page as the API writes it.
type jsonPage[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next"`
}

// printOne prints one thing as JSON, or for people by show.
func printOne[T any](t terminal, shared *flags, thing *T, show func(terminal, *T) error) error {
	if shared.json {
		return t.printJSON(thing)
	}
	return show(t, thing)
}

// asRow prints one thing as a table with a single row.
func asRow[T any](shown table[T]) func(terminal, *T) error {
	return func(t terminal, thing *T) error {
		return t.printTable(shown.titles, [][]string{shown.row(thing)})
	}
}

// printFields prints one thing: a row for each field that has a value.
func printFields[T any](t terminal, shared *flags, thing T, fields [][]string, more ...[]string) error {
	if shared.json {
		return t.printJSON(thing)
	}
	rows := make([][]string, 0, len(fields)+len(more))
	for _, field := range append(fields, more...) {
		if field[1] != "" && field[1] != "-" && field[1] != "?" {
			rows = append(rows, field)
		}
	}
	return t.printTable([]string{"FIELD", "VALUE"}, rows)
}

// maxCell bounds what a table shows of a JSON value, in bytes.
const maxCell = 60

// clipped is a JSON value as a cell.
func clipped(raw json.RawMessage) string { return parley.Clip(string(raw), maxCell) }

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// parsed is a flag's value that a function reads.
type parsed struct {
	kind string // shown in the help
	read func(text string) error
	text string
}

var _ pflag.Value = (*parsed)(nil)

func (p *parsed) String() string { return p.text }
func (p *parsed) Type() string   { return p.kind }

func (p *parsed) Set(text string) error {
	err := p.read(text)
	if err == nil {
		p.text = text
	}
	return err
}

// into is a flag that read stores in a field.
func into[T any](to *T, kind string, read func(string) (T, error)) *parsed {
	return &parsed{kind: kind, read: func(text string) (err error) {
		*to, err = read(text)
		return err
	}}
}

func wordFlag[T ~string](to *T) *parsed { return into(to, "string", readWord[T]) }

func jsonFlag(to *json.RawMessage) *parsed { return into(to, "json", readJSON) }

func timeFlag(to *parley.Time) *parsed {
	return into(to, "time", func(text string) (parley.Time, error) { return timeAgo(text, time.Now()) })
}

func numberFlag[T ~int | ~int64](to *T) *parsed {
	return into(to, "number", func(text string) (T, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || int64(T(n)) != n {
			return 0, fmt.Errorf("must be a whole number")
		}
		return T(n), nil
	})
}

func sizeFlag(to *int64) *size { return (*size)(to) }

// addChoice adds a flag to a command that is true or false, with neither as the default.
func addChoice(command *cobra.Command, to **bool, name, usage string) {
	command.Flags().Var(into(to, "bool", func(text string) (*bool, error) {
		b, err := readBool(text)
		return &b, err
	}), name, usage)
	command.Flags().Lookup(name).NoOptDefVal = "true"
}

// wordsFlag is repeatable; commas also separate words, and an empty text takes back those before it.
func wordsFlag[T ~string](to *[]T) *parsed {
	return &parsed{kind: "strings", read: func(text string) error {
		if text == "" {
			*to = nil
			return nil
		}
		for word := range strings.SplitSeq(text, ",") {
			*to = append(*to, T(word))
		}
		return nil
	}}
}

// textsFlag is wordsFlag for texts that may have commas.
func textsFlag(to *[]string) *parsed {
	return &parsed{kind: "strings", read: func(text string) error {
		*to = append(*to, text)
		return nil
	}}
}

// numbersFlag is wordsFlag for whole numbers.
func numbersFlag(to *[]int) *parsed {
	return &parsed{kind: "numbers", read: func(text string) error {
		for one := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(one)
			if err != nil {
				return fmt.Errorf("must be whole numbers")
			}
			*to = append(*to, n)
		}
		return nil
	}}
}

// addChange adds a flag to a command that changes one field of a patch.
func addChange[T any](
	command *cobra.Command,
	to *parley.Change[T],
	read func(string) (T, error),
	name, usage string,
) {
	command.Flags().Var(&parsed{kind: "value", read: func(text string) error {
		value, err := read(text)
		*to = changeTo(value)
		return err
	}}, name, usage)
}

// changeTo is a change to a value.
func changeTo[T any](value T) parley.Change[T] { return parley.Change[T]{Set: true, Value: value} }

func readWord[T ~string](text string) (T, error) { return T(text), nil }

func readBool(text string) (bool, error) {
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("must be true or false")
	}
	return b, nil
}

// readWords splits words at commas; "" yields none.
func readWords(text string) ([]string, error) {
	if text == "" {
		return []string{}, nil
	}
	return strings.Split(text, ","), nil
}

func readJSON(text string) (json.RawMessage, error) {
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("is not valid JSON")
	}
	return json.RawMessage(text), nil
}
