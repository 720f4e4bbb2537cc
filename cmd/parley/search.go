package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/store"
)

func searchCommand(shared *flags, term terminal) *cobra.Command {
	var query client.SearchQuery
	var roles []string
	var since, until, project, session string
	command := &cobra.Command{
		Use:   "search WORDS…",
		Short: "Find what was said, best first",
		Args:  cobra.MinimumNArgs(1),
		Long: "All words must occur, whatever their case and accents; the last one may be the beginning\nof a word. " +
			"\"a phrase\" is found as it is written, and -word must not occur (write -- before\nthe words then):\n\n " +
			" parley search deploy staging\n  parley search '\"rolling restart\"' --role assistant --since 7d\n  " +
			"parley search -- deploy -staging",
		RunE: shared.asking(func(ctx context.Context, server *client.Client, words []string) error {
			query.Q = strings.Join(words, " ")
			for _, role := range roles {
				query.Role = append(query.Role, parley.Role(role))
			}
			var err error
			if query.ProjectID, err = idIfGiven(project); err != nil {
				return err
			}
			if query.SessionID, err = idIfGiven(session); err != nil {
				return err
			}
			for _, bound := range []struct {
				text string
				at   *parley.Time
			}{{since, &query.CreatedFrom}, {until, &query.CreatedTo}} {
				if bound.text == "" {
					continue
				}
				if *bound.at, err = timeAgo(bound.text, time.Now()); err != nil {
					return err
				}
			}
			page, err := server.Search(ctx, query)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(page)
			}
			term.printHits(&page)
			return nil
		}),
	}
	set := command.Flags()
	set.StringSliceVar(
		&roles,
		"role",
		nil,
		"only messages of this role: user, assistant, tool_call, tool_result, summary, system (repeatable)",
	)
	set.StringVar(&query.AgentID, "agent", "", "only sessions of this agent (id or slug)")
	set.StringVar(&project, "project", "", "only sessions of this project (id)")
	set.StringVar(&session, "session", "", "only this session (id)")
	set.StringVar(&query.ToolName, "tool", "", "only calls and results of this tool")
	set.StringVar(&since, "since", "", "only what is not older: a time, a day (2026-01-31), or 90m, 12h, 7d ago")
	set.StringVar(&until, "until", "", "only what is older: the same")
	set.StringVar(&query.Archived, "archived", "", "true: only archived sessions, false: only others")
	set.IntVar(&query.Limit, "limit", store.DefaultHits, "how many at most")
	return command
}

// timeAgo reads a time, a day, or how long ago something was.
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

// printHits prints what was found: where, and the words, marked for people.
func (t terminal) printHits(page *client.SearchResults) {
	on, off := "", ""
	if watched(t.out) {
		on, off = markOn, markOff
	}
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
			"%s  %s%s  %s\n    %s\n",
			hit.Session.ID,
			plainLine(where),
			at,
			plainLine(hit.Session.Title),
			markedText(&hit.Snippet, on, off),
		)
	}
	switch {
	case len(page.Data) == 0:
		fmt.Fprintln(t.err, "Nothing was found.")
	case page.Next != nil:
		fmt.Fprintln(t.err, "There is more; use --limit or more words.")
	}
	if !page.Complete {
		fmt.Fprintln(t.err, "The index is still being made: older conversations may be missing.")
	}
}

// markedText puts the marks into a snippet. What could steer a terminal is left out.
func markedText(snippet *client.Snippet, on, off string) string {
	var out strings.Builder
	next := 0
	for at, r := range []rune(snippet.Text) {
		for next < len(snippet.Marks) && snippet.Marks[next][1] <= at {
			out.WriteString(off)
			next++
		}
		if next < len(snippet.Marks) && snippet.Marks[next][0] == at {
			out.WriteString(on)
		}
		out.WriteString(plainLine(string(r)))
	}
	if next < len(snippet.Marks) {
		out.WriteString(off)
	}
	return out.String()
}

// plainLine is text of somebody else's on one line, without what steers a terminal.
func plainLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}

func reindexCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "reindex",
		Short: "Rebuild the search index",
		Args:  cobra.NoArgs,
		Long: "Forgets the index of words. The server makes it anew from the record, beside its other\nwork; until " +
			"then searches find what is indexed so far. On SQLite the server must be\nstopped first, on PostgreSQL " +
			"it may run.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(shared, getenv)
			if err == nil {
				err = s.check()
			}
			if err != nil {
				return err
			}
			store, err := openStore(cmd.Context(), s, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			if err := errors.Join(store.RebuildSearch(cmd.Context()), store.Close()); err != nil {
				return err
			}
			fmt.Fprintln(
				term.err,
				"The index was dropped; a running server, or the next one you start, rebuilds it.",
			)
			return nil
		},
	}
}
