package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

// usageDays is how many days usage covers by default.
const usageDays = 30

func usageCommand(shared *flags, term terminal) *cobra.Command {
	var group string
	var agents []string
	var projects, sessions []parley.ID
	var days, limit int
	command := &cobra.Command{
		Use:   "usage",
		Short: "Show the tokens and cost of model calls, and what caches saved",
		Args:  cobra.NoArgs,
		RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			query := client.UsageQuery{
				Group:       parley.UsageGroup(group),
				CreatedFrom: parley.TimeOf(time.Now().AddDate(0, 0, -days)),
				Agent:       agents,
				Project:     projects,
				Session:     sessions,
				Limit:       limit,
			}
			report, err := server.Usage(ctx, query)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(report)
			}
			rows := make([][]string, 0, len(report.Data)+1)
			for i := range report.Data {
				rows = append(rows, usageOf(nameOf(&report.Data[i]), &report.Data[i]))
			}
			rows = append(rows, usageOf("total", &report.Total))
			return term.printTable(
				[]string{"BY " + group, "CALLS", "TOKENS IN", "CACHED", "HITS", "OUT", "COST", "SAVED"},
				rows,
			)
		}),
	}
	command.Flags().StringVar(&group, "by", string(parley.UsageByDay), "agent, model, session, day or purpose")
	addAgentReferences(command, &agents, "agent", "only this agent's sessions (id or slug); repeatable")
	addReferences(command, &projects, "project", "only this project's sessions; repeatable")
	addReferences(command, &sessions, "session", "only this session; repeatable")
	command.Flags().IntVar(&days, "days", usageDays, "how far to look back")
	command.Flags().IntVar(&limit, "limit", parley.DefaultPage, "how many rows at most")
	return command
}

// nameOf names what a row sums up.
func nameOf(u *parley.UsageSum) string {
	switch {
	case u.Day != 0:
		return u.Day.Std().Format(time.DateOnly)
	case u.Model != "":
		return string(u.Model)
	case u.Purpose != "":
		return string(u.Purpose)
	case u.Name != "":
		return u.Name
	case !u.SessionID.IsZero():
		return u.SessionID.String()
	}
	return u.AgentID.String()
}

func usageOf(name string, u *parley.UsageSum) []string {
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	share := "-"
	if u.InputTokens > 0 {
		share = fmt.Sprintf("%d (%d %%)", u.CachedTokens, 100*u.CachedTokens/u.InputTokens)
	}
	cost := "$" + u.Cost.String()
	if u.Unpriced > 0 {
		cost += " + " + count(u.Unpriced) + " unpriced"
	}
	if u.Estimated > 0 {
		cost += " (" + count(u.Estimated) + " estimated)"
	}
	return []string{
		name,
		count(u.Calls),
		count(u.InputTokens),
		share,
		count(u.CacheHits),
		count(u.OutputTokens),
		cost,
		"$" + u.Saved.String(),
	}
}
