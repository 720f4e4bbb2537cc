package main

import (
	"context"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/setting"
)

func agentsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "agents", Short: "List, make, change and archive agents"}

	var all bool
	var owner string
	list := &cobra.Command{
		Use:   "list",
		Short: "List agents",
		Args:  cobra.NoArgs,
		RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			query := client.AgentsQuery{Limit: parley.MaxPage, OwnerID: owner}
			if all {
				query.Status = "any"
			}
			agents, err := everyRow(server.AllAgents(ctx, query))
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(agents)
			}
			rows := make([][]string, len(agents))
			for i, a := range agents {
				model := string(a.Model)
				if model == "" {
					model = "(default)"
				}
				rows[i] = []string{a.Slug, a.Name, model, "v" + strconv.Itoa(a.Version), string(a.Status), ownerOf(&a)}
			}
			return term.printTable([]string{"SLUG", "NAME", "MODEL", "VERSION", "STATUS", "OWNER"}, rows)
		}),
	}
	list.Flags().BoolVar(&all, "all", false, "archived ones too")
	list.Flags().StringVar(&owner, "owner", "", "only those of this principal, by id; me for your own")

	show := &cobra.Command{
		Use:   "show AGENT",
		Short: "Show an agent by slug or id",
		Args:  cobra.ExactArgs(1),
		RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
			agent, err := server.Agent(ctx, args[0])
			if err != nil {
				return err
			}
			return term.printAgent(agent, shared)
		}),
	}
	archive := &cobra.Command{
		Use:   "archive AGENT",
		Short: "Archive an agent",
		Args:  cobra.ExactArgs(1),
		RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
			return server.ArchiveAgent(ctx, args[0])
		}),
	}
	warm := &cobra.Command{
		Use:   "warm AGENT",
		Short: "Put what all requests of an agent begin with into its provider's cache",
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
		createAgentCommand(shared, term),
		updateAgentCommand(shared, term),
		show,
		archive,
		warm,
		giveCommand(shared, term),
	)
	return command
}

func createAgentCommand(shared *flags, term terminal) *cobra.Command {
	var input client.AgentInput
	command := &cobra.Command{Use: "create NAME", Short: "Make an agent", Args: cobra.ExactArgs(1)}
	settings := addSettings(command, setting.Agent)
	command.RunE = shared.asking(func(ctx context.Context, server *client.Client, args []string) (err error) {
		input.Name = args[0]
		if input.Settings, err = settings.settings(); err != nil {
			return err
		}
		agent, err := server.CreateAgent(ctx, input)
		if err != nil {
			return err
		}
		return term.printAgent(agent, shared)
	})
	command.Flags().StringVar(&input.Slug, "slug", "", "short name for addresses; made from NAME when not given")
	command.Flags().StringVar(&input.Description, "description", "", "what the agent is for")
	command.Flags().StringVar(&input.Runtime, "runtime", "", "what runs its turns; standard when not given")
	return command
}

func updateAgentCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{
		Use:   "update AGENT",
		Short: "Change an agent: what no flag names stays as it is",
		Args:  cobra.ExactArgs(1),
	}
	settings := addSettingsPatch(command, setting.Agent)
	command.RunE = shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
		patch, err := settings.patch()
		if err != nil {
			return err
		}
		agent, err := server.UpdateAgent(ctx, args[0], client.AgentPatch{
			Name: settings.changeOf(
				"name",
			),
			Slug:          settings.changeOf("slug"),
			Description:   settings.changeOf("description"),
			Runtime:       settings.changeOf("runtime"),
			SettingsPatch: patch,
		})
		if err != nil {
			return err
		}
		return term.printAgent(agent, shared)
	})
	command.Flags().String("name", "", "its name")
	command.Flags().String("slug", "", "short name for addresses")
	command.Flags().String("description", "", "what the agent is for")
	command.Flags().String("runtime", "", "what runs its turns")
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
			var to parley.ID // nobody: the admins'
			if !admins {
				given, err := parley.ParseID(args[1])
				if err != nil {
					return err
				}
				to = given
			}
			agent, err := server.UpdateAgent(
				ctx,
				args[0],
				client.AgentPatch{OwnerID: parley.Change[parley.ID]{Set: true, Value: to}},
			)
			if err != nil {
				return err
			}
			return term.printAgent(agent, shared)
		}),
	}
	command.Flags().BoolVar(&admins, "to-admins", false, "leave it to the admins, without an owner")
	return command
}

// ownerOf names who may change an agent beside admins.
func ownerOf(agent *parley.Agent) string {
	if agent.OwnerID.IsZero() {
		return "(admins)"
	}
	return agent.OwnerName
}

func (t terminal) printAgent(agent parley.Agent, shared *flags) error {
	if shared.json {
		return t.printJSON(agent)
	}
	rows := [][]string{
		{"id", agent.ID.String()}, {"slug", agent.Slug}, {"name", agent.Name}, {"version", strconv.Itoa(agent.Version)},
		{"status", string(agent.Status)}, {"owner", ownerOf(&agent)}, {"runtime", agent.Runtime},
	}
	return t.printTable([]string{"FIELD", "VALUE"}, append(rows, settingRows(setting.Agent, &agent.Settings)...))
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
