package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

// agentVersionsCommand lists the versions of an agent, each as it was.
func agentVersionsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{
		Use:   "versions AGENT",
		Short: "List an agent's versions, newest first, with what each changed",
		Args:  cobra.ExactArgs(1),
	}
	part := addPaging(command, versionsShown)
	command.RunE = shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
		page, err := pageOf(part, func(limit int, cursor string) (client.Page[parley.Agent], error) {
			return server.AgentVersions(ctx, args[0], client.AgentVersionsQuery{Limit: limit, Cursor: cursor})
		})
		if err != nil {
			return err
		}
		changed := map[int]string{1: "(made)"}
		if !shared.json {
			if err := changesOf(ctx, server, page.Data, changed); err != nil {
				return err
			}
		}
		return printPage(term, shared, &page, table[parley.Agent]{
			titles: []string{"VERSION", "CREATED", "CHANGED"},
			row: func(a *parley.Agent) []string {
				return []string{agentVersion(a), a.UpdatedAt.String(), changed[a.Version]}
			},
		})
	})
	return command
}

// versionsShown is how many versions a list has without --limit.
const versionsShown = 20

// changesOf says by its number what each version of an agent changed; they are listed newest first.
func changesOf(ctx context.Context, server *client.Client, listed []parley.Agent, changed map[int]string) error {
	for i := range listed {
		newer := &listed[i]
		if newer.Version == 1 {
			continue
		}
		var older parley.Agent
		if i+1 < len(listed) {
			older = listed[i+1]
		} else { // it is on the next page
			var err error
			if older, err = server.AgentVersion(ctx, newer.ID.String(), newer.Version-1); err != nil {
				return err
			}
		}
		names, err := changedFields(&older, newer)
		if err != nil {
			return err
		}
		changed[newer.Version] = strings.Join(names, ", ")
	}
	return nil
}

// agentDiffCommand compares two versions of an agent.
func agentDiffCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "diff AGENT [FROM] [TO]",
		Short: "Show what differs between two versions of an agent; the last two by default",
		Args:  cobra.RangeArgs(1, 3),
		RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
			to, err := server.Agent(ctx, args[0])
			if err != nil {
				return err
			}
			if len(args) > 2 {
				if to, err = versionOf(ctx, server, args[0], "TO", args[2]); err != nil {
					return err
				}
			}
			before := strconv.Itoa(to.Version - 1)
			if len(args) > 1 {
				before = args[1]
			} else if to.Version == 1 {
				return parley.Errorf(parley.CodeNotFound, "the agent has a single version")
			}
			from, err := versionOf(ctx, server, args[0], "FROM", before)
			if err != nil {
				return err
			}
			return printAgentDiff(term, shared, &from, &to)
		}),
	}
}

// versionOf reads a version that an argument names, as 2 or v2.
func versionOf(ctx context.Context, server *client.Client, agent, place, text string) (parley.Agent, error) {
	number, err := strconv.Atoi(strings.TrimPrefix(text, "v"))
	if err != nil || number < 1 {
		return parley.Agent{}, parley.InvalidField(place, "%q is not a version; write a number, as 2 or v2", text)
	}
	return server.AgentVersion(ctx, agent, number)
}

// fieldChange is a field with its values before and after; null for a field that has none.
type fieldChange struct {
	Field string          `json:"field"`
	From  json.RawMessage `json:"from"`
	To    json.RawMessage `json:"to"`
}

func printAgentDiff(t terminal, shared *flags, from, to *parley.Agent) error {
	names, err := changedFields(from, to)
	if err != nil {
		return err
	}
	before, err := fieldsOf(from)
	if err != nil {
		return err
	}
	after, err := fieldsOf(to)
	if err != nil {
		return err
	}
	changes := make([]fieldChange, len(names))
	for i, name := range names {
		changes[i] = fieldChange{name, before[name], after[name]}
	}
	if shared.json {
		return t.printJSON(changes)
	}
	if len(changes) == 0 {
		fmt.Fprintf(t.out, "Versions %d and %d are the same.\n", from.Version, to.Version)
		return nil
	}
	for _, c := range changes {
		fmt.Fprintf(t.out, "%s\n", c.Field)
		printSide(t, "-", c.From)
		printSide(t, "+", c.To)
	}
	return nil
}

// printSide prints a value of a diff, its lines behind a sign.
func printSide(t terminal, sign string, value json.RawMessage) {
	if value == nil {
		return
	}
	text := string(value)
	var plain string
	if json.Unmarshal(value, &plain) == nil {
		text = plain
	}
	for line := range strings.Lines(text) {
		fmt.Fprintf(t.out, "  %s %s\n", sign, strings.TrimRight(line, "\r\n"))
	}
}

// changedFields are the fields in which two versions of an agent differ, by their names.
func changedFields(from, to *parley.Agent) ([]string, error) {
	before, err := fieldsOf(from)
	if err != nil {
		return nil, err
	}
	after, err := fieldsOf(to)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if string(before[name]) != string(after[name]) {
			names = append(names, name)
		}
	}
	return names, nil
}

// fieldsOf are the fields of an agent that a person sets.
func fieldsOf(agent *parley.Agent) (map[string]json.RawMessage, error) {
	encoded, err := json.Marshal(agent)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, err
	}
	for _, counted := range []string{"version", "updated_at", "created_at"} {
		delete(fields, counted)
	}
	return fields, nil
}
