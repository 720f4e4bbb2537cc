package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func teamCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "team", Short: "List and show teams: leads and the agents below them"}
	example := &cobra.Command{
		Use:   "example",
		Short: "Make a team that the simulator plays and watch it work, or show it",
		Args:  cobra.NoArgs,
		RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			team, err := server.EnsureExampleTeam(ctx)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(team)
			}
			return printExampleTeam(term, &team)
		}),
	}
	command.AddCommand(teamListCommand(shared, term), teamShowCommand(shared, term), example)
	return command
}

// waitsFor names those whose answers a member waits for, each once, the latest first.
func waitsFor(team *parley.Team, member *parley.TeamMember) string {
	var names []string
	for i := range member.OpenDelegations {
		d := &member.OpenDelegations[i]
		name := "owner"
		if d.ToPrincipalID.IsZero() {
			name = d.ToAgentID.String()
			if at := slices.IndexFunc(team.Members, func(m parley.TeamMember) bool {
				return m.AgentID == d.ToAgentID
			}); at >= 0 {
				name = team.Members[at].Slug
			}
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "-")
}

// printExampleTeam prints the example team, and what to do with it.
func printExampleTeam(t terminal, team *parley.Team) error {
	if err := printTeam(t, team); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.out, `
The simulator plays this team. Watch it, and read what it has for you:

  parley team show %s
  parley delegations list --agent %[1]s
  parley inbox list --unread

Give it work with: parley agents task %[1]s 'Find out why the build is slow.'
`, team.Slug)
	return err
}

// printTeam prints the members of a team, each below its lead.
func printTeam(t terminal, team *parley.Team) error {
	rows := make([][]string, 0, len(team.Members))
	for i := range team.Members {
		m := &team.Members[i]
		row := []string{
			strings.Repeat("  ", m.Depth) + m.Slug,
			m.Name,
			"-",
			"-",
			waitsFor(team, m),
			cmp.Or(m.NextRunAt.String(), "-"),
			"-",
			"-",
			"-",
		}
		if s := m.Background; s != nil {
			row[2], row[3] = string(s.Status), cmp.Or(s.Doing, "-")
			row[6] = strconv.FormatInt(s.Statistics.Turns, 10)
			row[7] = strconv.FormatInt(s.Statistics.InputTokens+s.Statistics.OutputTokens, 10)
			row[8] = s.Statistics.Cost.String()
		}
		rows = append(rows, row)
	}
	if err := t.printTable([]string{
		"AGENT", "NAME", "STATUS", "DOING", "WAITS FOR", "NEXT RUN", "WORK SESSIONS", "TOKENS", "COST",
	}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.out, "\n%d members of %s; work sessions: %d, tokens: %d, cost: %s\n", team.MemberCount,
		cmp.Or(team.OwnerName, "an owner without a name"), team.Total.Turns,
		team.Total.InputTokens+team.Total.OutputTokens, team.Total.Cost)
	return err
}
