package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func lineageCommand(shared *flags, term terminal) *cobra.Command {
	var query client.ArtifactLineageQuery
	command := &cobra.Command{
		Use: "lineage ARTIFACT", Short: "Show how a version of an artifact came about, or what came of it",
		Args: cobra.ExactArgs(1),
	}
	command.Flags().IntVar(&query.Version, "version", 0, "the current one by default")
	command.Flags().StringVar(&query.Direction, "direction", "up", "up to causes, or down to effects")
	command.Flags().IntVar(&query.Depth, "depth", 0,
		fmt.Sprintf("edges to follow, %d by default", parley.DefaultLineageDepth))
	command.Flags().StringVar(&query.Pointer, "pointer", "", "only what the value at this JSON Pointer was made from")
	command.Flags().StringVar(&query.Range, "range", "", "only what these lines were made from, such as 3-7")
	command.RunE = shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
		found, err := server.ArtifactLineage(ctx, id, query)
		if err != nil {
			return err
		}
		return printOne(term, shared, &found, func(term terminal, found *client.Lineage) error {
			return printLineage(term, found, query.Direction == "down")
		})
	})
	return command
}

// printLineage prints a graph as a tree from its first node. A node that several edges lead to is followed once.
func printLineage(term terminal, found *client.Lineage, down bool) error {
	out := &strings.Builder{}
	if c := found.Changed; c != nil {
		at := c.Pointer
		if c.Range != "" {
			at = "lines " + c.Range
		}
		fmt.Fprintf(out, "last changed in version %d (%s)", c.Version, at)
		if !c.Complete {
			out.WriteString(" or before: the history is too long to be followed")
		}
		out.WriteByte('\n')
	}
	nodes := make(map[string]*client.LineageNode, len(found.Nodes))
	for i := range found.Nodes {
		nodes[found.Nodes[i].ID] = &found.Nodes[i]
	}
	next := map[string][]*client.LineageEdge{}
	for i := range found.Edges {
		edge := &found.Edges[i]
		from := edge.To
		if down {
			from = edge.From
		}
		next[from] = append(next[from], edge)
	}
	followed := map[string]bool{}
	var show func(id, indent string)
	show = func(id, indent string) {
		if followed[id] && len(next[id]) > 0 {
			out.WriteString(" (shown above)\n")
			return
		}
		followed[id] = true
		out.WriteByte('\n')
		for _, edge := range next[id] {
			to := edge.From
			if down {
				to = edge.To
			}
			out.WriteString(indent + string(edge.Kind) + ": " + lineageLabel(nodes[to]))
			if part := edge.Pointer + edge.Range; part != "" {
				out.WriteString(" at " + part)
			}
			show(to, indent+"  ")
		}
	}
	if len(found.Nodes) > 0 {
		out.WriteString(lineageLabel(&found.Nodes[0]))
		show(found.Nodes[0].ID, "  ")
	}
	if found.Truncated {
		out.WriteString("… and more, which is too much to show\n")
	}
	_, err := io.WriteString(term.out, out.String())
	return err
}

// lineageLabel describes a node on one line.
func lineageLabel(n *client.LineageNode) string {
	if n == nil {
		return "?"
	}
	label := string(n.Kind)
	if n.Name == nil {
		if n.Purged {
			return label + " that was deleted"
		}
		return label + " that you may not see"
	}
	if n.Kind == parley.LineageMessage {
		label += " " + n.MessageID.String() + " in"
	}
	label += fmt.Sprintf(" %q", parley.Clip(*n.Name, parley.MaxNameBytes))
	if n.Version > 0 {
		label += fmt.Sprintf(" version %d", n.Version)
	}
	if n.Kind == parley.LineageCall {
		label += " " + n.CallID.String()
	}
	if n.Author != nil {
		label += fmt.Sprintf(" by %q", n.Author.Name)
	}
	for _, mark := range []struct {
		is   bool
		says string
	}{{n.Status != "" && n.Status != "completed", n.Status}, {n.Stale, "stale"}, {n.Purged, "deleted"}} {
		if mark.is {
			label += ", " + mark.says
		}
	}
	return label
}
