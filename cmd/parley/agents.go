package main

import (
	"context"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func agentsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "agents", Short: "List, make, change and archive agents"}

	list := agentsListCommand(shared, term)
	list.Flags().Lookup("all").Usage = "all of them, archived ones too: --status any"
	list.PreRunE = func(*cobra.Command, []string) error {
		if !list.Flags().Changed("all") {
			return nil
		}
		if list.Flags().Changed("status") {
			return misused(list, "--all lists agents of every status, so --status %s has no effect",
				list.Flags().Lookup("status").Value)
		}
		return list.Flags().Set("status", "any")
	}
	warm := &cobra.Command{
		Use:   "warm AGENT",
		Short: "Warm the provider's cache with what all requests of an agent begin with",
		Args:  cobra.ExactArgs(1),
		RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
			warmed, err := server.WarmAgent(ctx, args[0])
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(warmed)
			}
			said := warmed.Reason
			if warmed.Warmed {
				said = "sent"
			}
			return term.printTable(
				[]string{"MODEL", "TOKENS, ABOUT", "SAID"},
				[][]string{{string(warmed.Model), strconv.Itoa(warmed.Tokens), said}},
			)
		}),
	}
	command.AddCommand(
		list,
		agentsShowCommand(shared, term),
		agentsCreateCommand(shared, term),
		agentsUpdateCommand(shared, term),
		agentsArchiveCommand(shared),
		agentsReopenCommand(shared, term),
		agentVersionsCommand(shared, term),
		agentDiffCommand(shared, term),
		warm,
		agentsTaskCommand(shared, term),
		giveCommand(shared, term),
	)
	return command
}

func giveCommand(shared *flags, term terminal) *cobra.Command {
	var admins bool
	command := &cobra.Command{
		Use:   "give AGENT [PRINCIPAL]",
		Short: "Give an agent another owner, by the principal's id; for admins",
		Args:  cobra.RangeArgs(1, 2),
		RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
			if admins == (len(args) > 1) {
				return parley.Errorf(parley.CodeInvalid, "give either a principal's id or --to-admins")
			}
			var to parley.ID // the zero id: only admins
			if !admins {
				given, err := parley.ParseID(args[1]) // a principal's, and those have no list
				if err != nil {
					return err
				}
				to = given
			}
			agent, err := server.UpdateAgent(
				ctx,
				args[0],
				client.AgentPatch{OwnerID: changeTo(to)},
			)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(agent)
			}
			return term.printTable([]string{"AGENT", "OWNER"}, [][]string{{agent.Slug, ownerOf(&agent)}})
		}),
	}
	command.Flags().BoolVar(&admins, "to-admins", false, "leave the agent without an owner, to the admins")
	return command
}

// ownerOf names the owner of an agent, who may change it like admins.
func ownerOf(agent *parley.Agent) string {
	if agent.OwnerID.IsZero() {
		return "(admins)"
	}
	return agent.OwnerName
}

// everyRow reads a list to its end.
func everyRow[T any](list iter.Seq2[T, error]) (rows []T, err error) {
	for row, err := range list {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}
