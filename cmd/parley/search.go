package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/store"
)

func searchCommand(shared *flags, term terminal) *cobra.Command {
	command := searchMessagesCommand(shared, term)
	command.Long = "All words must occur, whatever their case and accents; " +
		"the last one may be the beginning\nof a word. " +
		"\"a phrase\" matches as it is written, and -word must not occur (write -- before\n" +
		"the words then). Times are " +
		"2026-01-31, 2026-01-31T12:00:00Z, or 90m, 12h, 7d for that long\nago:\n\n  parley search deploy staging\n  " +
		"parley search '\"rolling restart\"' --role assistant --since 7d\n  parley search -- deploy -staging"
	return command
}

// timeAgo reads a time, a day, or how long ago.
func timeAgo(text string, now time.Time) (parley.Time, error) {
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return parley.TimeOf(at), nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return parley.TimeOf(at), nil
	}
	if days, found := strings.CutSuffix(text, "d"); found {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return parley.TimeOf(now.AddDate(0, 0, -n)), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return parley.TimeOf(now.Add(-ago)), nil
	}
	return 0, parley.Errorf(
		parley.CodeInvalid,
		"%q is not a time; write 2026-01-31, 2026-01-31T12:00:00Z, or 90m, 12h, 7d for that long ago",
		parley.Clip(text, 64),
	)
}

// printHits prints where each hit is, and its text with the words marked.
func printHits(t terminal, page *client.SearchResults) error {
	for i := range page.Data {
		hit := &page.Data[i]
		where := "title"
		at := ""
		if m := hit.Message; m != nil {
			where, at = string(m.Role), "  "+m.CreatedAt.Std().Local().Format("2006-01-02 15:04")
			if m.ToolName != "" {
				where += " " + m.ToolName
			}
			where += " #" + strconv.FormatInt(m.Sequence, 10)
		}
		fmt.Fprintf(
			t.out,
			"%s  %s%s  %s\n    ",
			hit.Session.ID,
			plainLine(where),
			at,
			plainLine(hit.Session.Title),
		)
		printMarked(t.out, &hit.Snippet)
		fmt.Fprintln(t.out)
	}
	switch {
	case len(page.Data) == 0:
		fmt.Fprintln(t.err, "Found nothing.")
	case page.Next != nil:
		fmt.Fprintln(t.err, "There is more: --cursor", *page.Next)
	}
	if !page.Complete {
		fmt.Fprintln(t.err, "The index is still being built: older conversations may be missing.")
	}
	return nil
}

// printMarked prints a snippet with its words marked.
func printMarked(w io.Writer, snippet *client.Snippet) {
	next := 0
	for at, r := range []rune(snippet.Text) {
		for next < len(snippet.Marks) && snippet.Marks[next][1] <= at {
			steer(w, styleOff)
			next++
		}
		if next < len(snippet.Marks) && snippet.Marks[next][0] == at {
			steer(w, markOn)
		}
		fmt.Fprint(w, plainLine(string(r)))
	}
	if next < len(snippet.Marks) {
		steer(w, styleOff)
	}
}

func reindexCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "reindex",
		Short: "Rebuild the search index",
		Args:  cobra.NoArgs,
		Long: "Drops the word index and rebuilds it from the record. If it is interrupted, the server goes on\n" +
			"with the rest in the background; until then searches find what is indexed so far. On SQLite\nstop " +
			"the server first; on PostgreSQL it may run, and helps.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(shared, getenv)
			if err == nil {
				err = s.check()
			}
			if err != nil {
				return err
			}
			opened, err := openStore(cmd.Context(), s, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			said, err := reindex(cmd.Context(), opened, term)
			if err = errors.Join(err, opened.Close()); err == nil {
				fmt.Fprintln(term.err, said)
			}
			return err
		},
	}
}

// indexRest is until the next pass over all sessions, once the index is rebuilt; a server that starts makes one anyway.
const indexRest = 5 * time.Minute

const leftToServers = "Interrupted. A running server, or the next one you start, rebuilds the rest."

// reindex drops the index and rebuilds it, session by session, and returns what to say.
func reindex(ctx context.Context, index store.SearchIndex, term terminal) (said string, err error) {
	if err := index.RebuildSearch(ctx); err != nil {
		return "", err
	}
	indexed := 0
	count, done := term.counting("sessions are indexed")
	defer done()
	for {
		step, taken, err := index.TakeSearchStep(ctx, false)
		switch {
		case ctx.Err() != nil:
			return leftToServers, nil
		case err != nil:
			return "", err
		case !taken: // another process has it, or has ended the pass
			return "A running server rebuilds the rest of the index.", nil
		}
		for _, session := range step.Sessions {
			for left := []parley.ID{session}; len(left) > 0; {
				if left, err = index.IndexSessions(ctx, left); err != nil {
					if ctx.Err() != nil {
						return leftToServers, nil
					}
					return "", err
				}
			}
			indexed++
			count(indexed)
		}
		if err := index.EndSearchStep(ctx, step, indexRest); err != nil {
			return "", err
		}
		if step.Last.IsZero() {
			return fmt.Sprintf("The index was rebuilt: %d sessions.", indexed), nil
		}
	}
}
