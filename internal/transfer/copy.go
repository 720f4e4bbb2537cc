package transfer

import (
	"context"
	"errors"
	"slices"

	"example.org/parley"
	"example.org/parley/internal/tables"
)

// Bounds of one transaction of a copy, whichever is reached first.
const (
	BatchRows  = 2000
	BatchBytes = 4 << 20
)

// Stage is the stage of a copy.
type Stage string

// Stages of a copy.
const (
	Copying   Stage = "copying"
	Verifying Stage = "verifying"
)

// State is the progress of a copy within a table.
type State struct {
	Stage Stage
	Table string
	Rows  int64 // copied or read
	Total int64
}

// Copied is a table that both sides have in common.
type Copied struct {
	Table  string `json:"table"`
	Rows   int64  `json:"rows"`
	Digest string `json:"digest"`
}

// Summary is the result of a copy.
type Summary struct {
	Tables   []Copied `json:"tables"`
	Sessions int64    `json:"sessions"` // sessions whose records were checked against their hashes
	Messages int64    `json:"messages"`
	Resumed  bool     `json:"resumed"` // continued an earlier run
	Already  bool     `json:"already"` // the destination was complete and was only verified
}

// Copy copies every row of a database into an empty one, and then reads both to verify that they are equal and that
// each record matches its hashes. It continues an earlier, interrupted copy. It reports every transaction to tell,
// which may be nil.
//
// CodeConflict if a server works on either database, if the destination has other data or a copy of another database,
// if the source changed meanwhile, and if the two differ in the end; then the destination stays closed to servers.
// servers then.
func Copy(ctx context.Context, from Archive, to Destination, tell func(State)) (Summary, error) {
	if tell == nil {
		tell = func(State) {}
	}
	c := &copying{from: from, to: to, tell: tell}
	if err := c.quiet(ctx); err != nil {
		return Summary{}, err
	}
	if err := c.begin(ctx); err != nil {
		return Summary{}, err
	}
	if !c.summary.Already {
		if err := c.copyTables(ctx); err != nil {
			return Summary{}, err
		}
	}
	if err := c.verify(ctx); err != nil {
		return Summary{}, err
	}
	if c.summary.Already {
		return c.summary, nil
	}
	return c.summary, to.End(ctx)
}

// copying is one run.
type copying struct {
	from     Archive
	to       Destination
	tell     func(State)
	totals   map[string]int64 // rows of the source's tables
	progress Progress
	summary  Summary
}

func (c *copying) quiet(ctx context.Context) error {
	if err := c.from.Quiet(ctx); err != nil {
		return err
	}
	return c.to.Quiet(ctx)
}

// begin finds out whether the destination is empty, or has an unfinished or a finished copy.
func (c *copying) begin(ctx context.Context) error {
	source, totals, err := fingerprint(ctx, c.from)
	if err != nil {
		return err
	}
	c.totals = totals
	found, err := c.to.Progress(ctx)
	if err != nil {
		return err
	}
	if found != nil {
		if found.Source != source {
			return parley.Errorf(
				parley.CodeConflict,
				"the destination holds an unfinished copy of another database, or of this one before it changed: "+
					"start over with an empty destination",
			)
		}
		c.progress, c.summary.Resumed = *found, true
		return nil
	}
	target, held, err := fingerprint(ctx, c.to)
	if err != nil {
		return err
	}
	for _, table := range Tables {
		if held[table.Name] == 0 {
			continue
		}
		if target != source {
			return parley.Errorf(
				parley.CodeConflict,
				"the destination holds other data (%d sessions, %d messages): a copy goes into an empty database only",
				held["sessions"],
				held["messages"],
			)
		}
		c.summary.Already = true
		return nil
	}
	c.progress = Progress{Source: source, Table: Tables[0].Name}
	return c.to.Begin(ctx, c.progress)
}

// fingerprint tells databases apart cheaply: by the workspaces and the number of rows of each table.
func fingerprint(ctx context.Context, of Archive) (parley.Hash, map[string]int64, error) {
	workspaces, err := digest(ctx, of, Tables[0])
	if err != nil {
		return parley.Hash{}, nil, err
	}
	totals := map[string]int64{}
	text := []byte(workspaces.String())
	for _, table := range Tables {
		n, err := of.Count(ctx, table)
		if err != nil {
			return parley.Hash{}, nil, err
		}
		totals[table.Name] = n
		text = Row{{Kind: tables.Text, Bytes: []byte(table.Name)}, {Kind: tables.Integer, Int: n}}.append(text)
	}
	return parley.HashOf(text), totals, nil
}

func digest(ctx context.Context, of Archive, table tables.Table) (*Digest, error) {
	var d Digest
	err := of.Each(ctx, table, nil, func(row Row) error {
		d.Add(row)
		return ctx.Err()
	})
	return &d, err
}

// copyTables copies what is missing.
func (c *copying) copyTables(ctx context.Context) error {
	at := slices.IndexFunc(Tables, func(t tables.Table) bool { return t.Name == c.progress.Table })
	if at < 0 {
		return errPlace()
	}
	for i, table := range Tables[at:] {
		if i > 0 {
			c.progress = Progress{Source: c.progress.Source, Table: table.Name}
		}
		if err := c.copyTable(ctx, table); err != nil {
			return inTable(table, err)
		}
	}
	return nil
}

// copyTable copies the rows of a table after the last copied one.
func (c *copying) copyTable(ctx context.Context, table tables.Table) error {
	places, err := keyPlaces(c.from, table)
	if err != nil {
		return err
	}
	after, err := parseRow(c.progress.Key)
	if err != nil {
		return err
	}
	var batch []Row
	size := 0
	write := func() error {
		if len(batch) == 0 {
			return nil
		}
		key := make(Row, len(places))
		for i, place := range places {
			key[i] = batch[len(batch)-1][place]
		}
		c.progress.Rows += int64(len(batch))
		c.progress.Key = key.append(nil)
		if err := c.to.Append(ctx, table, batch, c.progress); err != nil {
			return err
		}
		batch, size = batch[:0], 0
		c.tell(State{Stage: Copying, Table: table.Name, Rows: c.progress.Rows, Total: c.totals[table.Name]})
		return nil
	}
	if err := c.from.Each(ctx, table, after, func(row Row) error {
		batch = append(batch, row)
		if size += row.size(); len(batch) < BatchRows && size < BatchBytes {
			return nil
		}
		return write()
	}); err != nil {
		return err
	}
	return write()
}

// keyPlaces returns the indexes of a table's key columns among its columns.
func keyPlaces(of Archive, table tables.Table) ([]int, error) {
	key := of.Key(table)
	places := make([]int, len(key))
	for i, name := range key {
		places[i] = slices.IndexFunc(table.Columns, func(c tables.Column) bool { return c.Name == name })
		if places[i] < 0 {
			return nil, parley.Errorf(parley.CodeInternal, "%s has no column %s", table.Name, name)
		}
	}
	return places, nil
}

// inTable adds the table to an error about one of its rows; any other error gets a sentence.
func inTable(table tables.Table, err error) error {
	var sentence *parley.Error
	switch {
	case !errors.As(err, &sentence):
		return parley.WrapError(parley.CodeInternal, err, "copying "+table.Name+" failed")
	case sentence.Code == parley.CodeInvalid:
		return parley.WrapError(sentence.Code, err, "a row of "+table.Name+" cannot be copied: "+sentence.Message)
	}
	return err
}
