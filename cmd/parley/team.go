package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
)

func teamCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "team", Short: "List and show teams: leads and the agents below them"}
	command.AddCommand(teamListCommand(shared, term), teamShowCommand(shared, term))
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

// printTeam prints the members of a team, each below its lead.
func printTeam(t terminal, team *parley.Team) error {
	rows := make([][]string, 0, len(team.Members))
	for i := range team.Members {
		m := &team.Members[i]
		row := []string{
			strings.Repeat("  ", m.Depth) + m.Slug, m.Name, "-", "-", waitsFor(team, m), cmp.Or(m.NextRunAt.String(), "-"),
			"-", "-", "-",
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
	_, err := fmt.Fprintf(t.out, "\n%d members of %s; %d work sessions, %d tokens, %s\n", team.MemberCount,
		cmp.Or(team.OwnerName, "an owner without a name"), team.Total.Turns,
		team.Total.InputTokens+team.Total.OutputTokens, team.Total.Cost)
	return err
}
