package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

// sessionsTagCommand adds tags to a session, and takes others away. A patch has only all of them.
func sessionsTagCommand(shared *flags, term terminal) *cobra.Command {
	var away []string
	command := &cobra.Command{
		Use:   "tag SESSION [TAG…]",
		Short: "Add tags to a session, or take them away with --remove",
		Args:  cobra.MinimumNArgs(1),
	}
	command.Flags().StringSliceVar(&away, "remove", nil, "a tag to take away; repeatable")
	command.RunE = shared.about(func(ctx context.Context, server *client.Client, id parley.ID, args []string) error {
		if len(args) == 1 && len(away) == 0 {
			return misused(command, "TAG is missing")
		}
		session, err := server.Session(ctx, id)
		if err != nil {
			return err
		}
		tags := slices.DeleteFunc(session.Tags, func(tag string) bool { return slices.Contains(away, tag) })
		for _, tag := range args[1:] {
			if !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
		session, err = server.UpdateSession(ctx, id, client.SessionPatch{Tags: changeTo(tags)})
		if err != nil {
			return err
		}
		return printSession(term, shared, &session)
	})
	return command
}

// sessionsWatchCommand prints what happens in a session until it is interrupted.
func sessionsWatchCommand(shared *flags, term terminal) *cobra.Command {
	var after int64
	var raw bool
	command := &cobra.Command{
		Use:   "watch SESSION",
		Short: "Print what happens in a session as it happens, until Ctrl-C; with --json one frame a line",
		Args:  cobra.ExactArgs(1),
	}
	command.Flags().Int64Var(&after, "after", 0, "begin after this event; with what happens now by default")
	command.Flags().BoolVar(&raw, "raw", false, "also print what the provider sends, unprocessed; for admins")
	command.RunE = shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
		session, err := server.Session(ctx, id)
		if err != nil {
			return err
		}
		if !command.Flags().Changed("after") {
			after = session.LastEvent
		}
		c := &chat{server: server, term: term, json: shared.json, session: session}
		view := newTurnView(c)
		query := client.WatchSessionQuery{After: after}
		if raw {
			query.Raw = &raw
		}
		for frame, err := range server.WatchSession(ctx, id, query) {
			switch {
			case ctx.Err() != nil:
				return nil // told to end
			case err != nil:
				return err
			}
			if err := view.watch(ctx, frame); err != nil && ctx.Err() == nil && !errors.Is(err, errQuiet) {
				return err
			}
		}
		return nil
	})
	return command
}

// printBudget prints the limits of a session and its agent.
func printBudget(t terminal, b *client.SessionBudget) error {
	rows := [][]string{budgetRow("session", &b.Session)}
	if b.Agent != nil {
		rows = append(rows, budgetRow("agent", b.Agent))
	}
	if err := t.printTable([]string{
		"OF", "TODAY", "OF A DAY'S", "COST TODAY", "OF A DAY'S", "TOKENS IN ALL", "COST IN ALL", "DAY ENDS",
	}, rows); err != nil {
		return err
	}
	if c := b.Chain; c != nil {
		fmt.Fprintln(t.out)
		if err := printChain(t, c); err != nil {
			return err
		}
	}
	set, err := limitRows(&b.Limits)
	if err != nil {
		return err
	}
	if len(set) > 0 {
		fmt.Fprintln(t.out)
		return t.printTable([]string{"LIMIT", "VALUE"}, set)
	}
	return nil
}

// printChain prints what was spent of the budget of a chain.
func printChain(t terminal, c *client.ChainSpending) error {
	return t.printTable([]string{"CHAIN", "TOKENS", "OF", "COST", "OF"}, [][]string{{
		c.RootID.String(), strconv.FormatInt(c.Tokens, 10), known(c.ChainTokens), "$" + c.Cost.String(),
		price(c.ChainCost),
	}})
}

// limitRows are the limits that are set.
func limitRows(limits *parley.Limits) (rows [][]string, err error) {
	encoded, err := json.Marshal(limits)
	if err != nil {
		return nil, err
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &values); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if value := string(values[name]); value != "null" {
			rows = append(rows, []string{strings.ReplaceAll(name, "_", " "), value})
		}
	}
	return rows, nil
}

func budgetRow(of string, s *client.Spending) []string {
	return []string{
		of, strconv.FormatInt(s.TodayTokens, 10), known(s.DailyTokens), "$" + s.TodayCost.String(), price(s.DailyCost),
		strconv.FormatInt(s.Tokens, 10), "$" + s.Cost.String(), s.DayEndsAt.String(),
	}
}
