package transfer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/tables"
)

// verify reads both databases whole, side by side, and checks the records of the
// copy. At last the source must be as it was, and nobody at work.
func (c *copying) verify(ctx context.Context) error {
	var differ []string
	for _, table := range Tables {
		source, copied, err := c.both(ctx, table)
		if err != nil {
			return inTable(table, err)
		}
		c.summary.Tables = append(
			c.summary.Tables,
			Copied{Table: table.Name, Rows: copied.Rows, Digest: copied.String()},
		)
		if !source.Same(copied) {
			differ = append(
				differ,
				fmt.Sprintf("%s (%d rows in the source, %d in the copy)", table.Name, source.Rows, copied.Rows),
			)
		}
		c.tell(State{Stage: Verifying, Table: table.Name, Rows: copied.Rows, Total: source.Rows})
	}
	if len(differ) > 0 {
		return parley.Errorf(
			parley.CodeConflict,
			"the copy is not what the source holds: they differ in %s. Start over with an empty destination, and let "+
				"nobody work on either side meanwhile",
			strings.Join(differ, ", "),
		)
	}
	var records Records
	if err := c.to.Records(ctx, &records); err != nil {
		return brokenBefore(err)
	}
	c.summary.Sessions, c.summary.Messages = records.Sessions, records.Messages
	if err := c.quiet(ctx); err != nil {
		return err
	}
	now, _, err := fingerprint(ctx, c.from)
	if err != nil {
		return err
	}
	if !c.summary.Already && now != c.progress.Source {
		return parley.Errorf(
			parley.CodeConflict,
			"the source was changed while it was copied: stop every server that works on it, and start over with an "+
				"empty destination",
		)
	}
	return nil
}

// brokenBefore says of a record that breaks its hashes in both databases where
// it broke.
func brokenBefore(err error) error {
	var broken *parley.Error
	if !errors.As(err, &broken) {
		return err
	}
	return parley.WrapError(
		broken.Code,
		err,
		broken.Message+". The source holds it like that: delete that session there, or put a backup back in which it "+
			"is whole, and start over with an empty destination",
	)
}

// both digests a table of both sides at the same time.
func (c *copying) both(ctx context.Context, table tables.Table) (source, copied *Digest, err error) {
	type answer struct {
		digest *Digest
		err    error
	}
	other := make(chan answer, 1)
	go func() { // ends with its answer, which is awaited below
		d, err := digest(ctx, c.to, table)
		other <- answer{d, err}
	}()
	source, err = digest(ctx, c.from, table)
	of := <-other
	return source, of.digest, errors.Join(err, of.err)
}
