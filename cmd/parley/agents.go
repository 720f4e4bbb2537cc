package main

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parley"
	"parley/client"
)

func agentsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "agents", Short: "List, make and archive agents"}

	var all bool
	var owner string
	list := &cobra.Command{Use: "list", Short: "List agents", Args: cobra.NoArgs, RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
		query := url.Values{}
		if !all {
			query.Set("status", string(parley.AgentActive))
		}
		if owner != "" {
			query.Set("owner_id", owner)
		}
		agents, err := everyPage(query, func(q url.Values) (client.Page[parley.Agent], error) { return server.Agents(ctx, q) })
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
	})}
	list.Flags().BoolVar(&all, "all", false, "archived ones too")
	list.Flags().StringVar(&owner, "owner", "", "only those of this principal, by id; me for your own")

	var input client.AgentInput
	var model string
	var tools []string
	create := &cobra.Command{Use: "create NAME", Short: "Make an agent", Args: cobra.ExactArgs(1), RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
		input.Name, input.Model = args[0], parley.ModelID(model)
		var err error
		if input.Tools, err = toolRefs(tools); err != nil {
			return err
		}
		agent, err := server.CreateAgent(ctx, input)
		if err != nil {
			return err
		}
		return term.printAgent(agent, shared)
	})}
	create.Flags().StringVar(&input.Slug, "slug", "", "short name for addresses; made from NAME when not given")
	create.Flags().StringVar(&input.SystemPrompt, "system-prompt", "", "what the agent is told to be")
	create.Flags().StringVar(&input.Description, "description", "", "what the agent is for")
	create.Flags().StringVar(&model, "model", "", "provider/model; the server's default when not given")
	create.Flags().StringArrayVar(&tools, "tool", nil, `a tool the agent may use (repeatable): names with commas between, or {"name","description","agent"} for a tool that is an agent`)

	show := &cobra.Command{Use: "show AGENT", Short: "Show an agent by slug or id", Args: cobra.ExactArgs(1), RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
		agent, err := server.Agent(ctx, args[0])
		if err != nil {
			return err
		}
		return term.printAgent(agent, shared)
	})}
	archive := &cobra.Command{Use: "archive AGENT", Short: "Archive an agent", Args: cobra.ExactArgs(1), RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
		return server.ArchiveAgent(ctx, args[0])
	})}
	warm := &cobra.Command{Use: "warm AGENT", Short: "Put what all requests of an agent begin with into its provider's cache", Args: cobra.ExactArgs(1), RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
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
		return term.printTable([]string{"MODEL", "TOKENS, ABOUT", "SAID"}, [][]string{{string(warmed.Model), strconv.Itoa(warmed.Tokens), said}})
	})}
	command.AddCommand(list, create, show, archive, warm, giveCommand(shared, term))
	return command
}

func giveCommand(shared *flags, term terminal) *cobra.Command {
	var admins bool
	command := &cobra.Command{Use: "give AGENT [PRINCIPAL]", Short: "Give an agent another owner, by the principal's id; for admins", Args: cobra.RangeArgs(1, 2), RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
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
		agent, err := server.GiveAgent(ctx, args[0], to)
		if err != nil {
			return err
		}
		return term.printAgent(agent, shared)
	})}
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

// toolRefs reads what --tool was given.
func toolRefs(given []string) (refs []parley.ToolRef, err error) {
	for _, text := range given {
		if !strings.HasPrefix(strings.TrimSpace(text), "{") {
			refs = append(refs, client.ToolNames(strings.Split(text, ",")...)...)
			continue
		}
		var ref parley.ToolRef
		if err := ref.UnmarshalJSON([]byte(text)); err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

func (t terminal) printAgent(agent parley.Agent, shared *flags) error {
	if shared.json {
		return t.printJSON(agent)
	}
	tools := make([]string, len(agent.Tools))
	for i, tool := range agent.Tools {
		tools[i] = tool.Name
	}
	return t.printTable([]string{"FIELD", "VALUE"}, [][]string{
		{"id", agent.ID.String()}, {"slug", agent.Slug}, {"name", agent.Name}, {"model", string(agent.Model)},
		{"tools", strings.Join(tools, ", ")}, {"version", strconv.Itoa(agent.Version)}, {"status", string(agent.Status)}, {"owner", ownerOf(&agent)},
		{"system prompt", parley.Clip(strings.ReplaceAll(agent.SystemPrompt, "\n", " "), 200)},
	})
}

// everyPage follows a list's cursors to its end.
func everyPage[T any](query url.Values, page func(url.Values) (client.Page[T], error)) ([]T, error) {
	var rows []T
	query.Set("limit", strconv.Itoa(parley.MaxPage))
	for {
		got, err := page(query)
		if err != nil {
			return nil, err
		}
		rows = append(rows, got.Data...)
		if got.Next == "" {
			return rows, nil
		}
		query.Set("cursor", got.Next)
	}
}
