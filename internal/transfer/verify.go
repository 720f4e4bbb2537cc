package transfer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/tables"
)

// verify reads both databases completely, side by side, and checks the copy's records. Finally the source must be
// unchanged, and no server may be working.
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
			"the copy does not equal the source: they differ in %s. Start over with an empty destination, and let "+
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

// brokenBefore says that a record which contradicts its hashes was already broken in the source.
func brokenBefore(err error) error {
	var broken *parley.Error
	if !errors.As(err, &broken) {
		return err
	}
	return parley.WrapError(
		broken.Code,
		err,
		broken.Message+". The source has the same defect: delete that session there, or restore a backup in which it "+
			"is intact, and start over with an empty destination",
	)
}

// both digests a table of both sides concurrently.
func (c *copying) both(ctx context.Context, table tables.Table) (source, copied *Digest, err error) {
	type answer struct {
		digest *Digest
		err    error
	}
	other := make(chan answer, 1)
	go func() { // ends with its result, awaited below
		d, err := digest(ctx, c.to, table)
		other <- answer{d, err}
	}()
	source, err = digest(ctx, c.from, table)
	of := <-other
	return source, of.digest, errors.Join(err, of.err)
}
