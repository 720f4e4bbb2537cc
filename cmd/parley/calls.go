package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/setting"
)

func callsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{
		Use:   "calls",
		Short: "Explain model calls: what was sent, why, what it cost, and what changed",
	}
	command.AddCommand(
		callsListCommand(shared, term),
		showCallCommand(shared, term),
		diffCallCommand(shared, term),
		replayCallCommand(shared, term),
	)
	return command
}

func showCallCommand(shared *flags, term terminal) *cobra.Command {
	var request bool
	show := &cobra.Command{
		Use:   "show CALL",
		Short: "Explain a call: the parts of its request, what was left out, what it cost",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			call, err := server.Call(ctx, id)
			switch {
			case err != nil:
				return err
			case request:
				_, err := fmt.Fprintf(term.out, "%s\n", call.Request)
				return err
			case shared.json:
				return term.printJSON(call)
			}
			fmt.Fprintf(
				term.out,
				"%s  %s  step %d, attempt %d  %s\n",
				call.ID,
				modelLabel(call.Model),
				call.Step,
				call.Attempt,
				call.Outcome,
			)
			fmt.Fprintf(
				term.out,
				"in %s (cached %s), out %s, cost %s\n",
				known(call.Usage.InputTokens),
				known(call.Usage.CachedTokens),
				known(call.Usage.OutputTokens),
				price(call.Cost),
			)
			if c := call.Costs; c != nil {
				fmt.Fprintf(
					term.out,
					"input $%s, cached $%s, written to the cache $%s, output $%s; the cache saved $%s\n",
					c.Input,
					c.Cached,
					c.CacheWrite,
					c.Output,
					c.Saved,
				)
			}
			if !call.Exact {
				fmt.Fprintln(term.out, "This request differs from the one that was sent:", call.Reason)
			}
			for _, a := range call.Attempts {
				fmt.Fprintf(term.out, "attempt %d: %s  %s\n", a.Attempt, a.Outcome, a.CallID)
			}
			return printExplanation(term, &call.Explanation)
		}),
	}
	show.Flags().BoolVar(&request, "request", false, "print only the request, as it was sent")
	return show
}

// printExplanation prints the parts of a request and what it leaves out.
func printExplanation(term terminal, e *client.Explanation) error {
	window := strconv.Itoa(e.Window.Used) + " tokens"
	if e.Window.ContextLength != nil && e.Window.Share != nil {
		window += fmt.Sprintf(" of %d (%.1f %%)", *e.Window.ContextLength, *e.Window.Share*100)
	}
	fmt.Fprintf(term.out, "window: %s\n\n", window)
	rows := make([][]string, 0, len(e.Parts)+len(e.Totals))
	for _, p := range e.Parts {
		place, name, cached := "", "", ""
		if p.Span != nil {
			place = fmt.Sprintf("%d+%d", p.Span.Offset, p.Span.Length)
		}
		if p.Sequence != nil {
			name = "#" + strconv.FormatInt(*p.Sequence, 10)
		}
		if p.Role != nil {
			name += " " + *p.Role
		}
		if p.Name != nil {
			name += " " + *p.Name
		}
		if p.Cached != nil {
			cached = strconv.Itoa(*p.Cached)
		}
		rows = append(rows, []string{p.Kind, strings.TrimSpace(name), strconv.Itoa(p.Tokens), cached, place, p.Reason})
	}
	for _, t := range e.Totals {
		rows = append(rows, []string{"all " + t.Kind, strconv.Itoa(t.Parts), strconv.Itoa(t.Tokens), "", "", ""})
	}
	if err := term.printTable([]string{"PART", "WHICH", "TOKENS", "CACHED", "BYTES AT", "REASON"}, rows); err != nil {
		return err
	}
	if len(e.LeftOut) > 0 {
		fmt.Fprintln(term.out, "\nleft out:")
	}
	for _, l := range e.LeftOut {
		fmt.Fprintf(term.out, "  %d–%d (%d): %s\n", l.From, l.To, l.Count, l.Reason)
	}
	return nil
}

func diffCallCommand(shared *flags, term terminal) *cobra.Command {
	var with parley.ID
	diff := &cobra.Command{
		Use: "diff CALL",
		Short: "Compare a call's request with the one before: what changed, and what that means for the " +
			"provider's cache",
		Args: cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			d, err := server.DiffCall(ctx, id, client.DiffCallQuery{With: with})
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(d)
			}
			fmt.Fprintln(term.out, d.Cache.Says)
			if d.First != nil {
				fmt.Fprintf(
					term.out,
					"shared: %d of %d tokens, %d messages; the bytes part at %d (%s)\n",
					d.Shared.Tokens,
					d.Shared.OfTokens,
					d.Shared.Messages,
					d.First.Offset,
					d.First.Kind,
				)
			}
			for _, c := range d.Changes {
				fmt.Fprintf(term.out, "- %s: %s\n", c.Cause, c.Says)
				for _, l := range c.Lines {
					fmt.Fprintf(term.out, "  %s %d: %s\n", l.Sign, l.Line, l.Text)
				}
			}
			return nil
		}),
	}
	addReference(diff, &with, "with", "the call to compare with; the step before by default")
	return diff
}

func replayCallCommand(shared *flags, term terminal) *cobra.Command {
	var model string
	replay := &cobra.Command{
		Use: "replay CALL",
		Short: "Send a call's request again, to the same model or another one, and compare the answers; it enters no " +
			"conversation",
		Args: cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			r, err := server.ReplayCall(ctx, id, client.ReplayInput{Model: parley.ModelID(model)})
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(r)
			}
			for _, one := range []struct {
				name   string
				call   *parley.Call
				answer *parley.ReplayAnswer
			}{{"original", &r.Original, &r.OldAnswer}, {"replay", &r.Call, &r.Answer}} {
				fmt.Fprintf(
					term.out,
					"%s: %s  %s  in %s, out %s, cost %s, %s ms\n",
					one.name,
					modelLabel(one.call.Model),
					one.call.Outcome,
					known(
						one.call.Usage.InputTokens,
					),
					known(one.call.Usage.OutputTokens),
					price(one.call.Cost),
					known(one.call.TotalMS),
				)
				if one.call.Error != nil {
					fmt.Fprintln(term.out, one.call.Error.Sentence)
				}
				fmt.Fprintln(term.out, one.answer.Text)
				for _, asked := range one.answer.ToolCalls {
					fmt.Fprintf(term.out, "calls %s %s\n", asked.Name, asked.Arguments)
				}
			}
			fmt.Fprintf(term.out, "same request: %t, same answer: %t\n", r.SameBytes, r.SameAnswer)
			return nil
		}),
	}
	replay.Flags().StringVar(&model, "model", "", "provider/model; the call's own by default")
	return replay
}

func contextCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "context SESSION",
		Short: "Show what the model's window holds now, by part, and what is left out",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			shown, err := server.Context(ctx, id, client.ContextQuery{})
			if err != nil {
				return err
			}
			return printPreview(shared, term, &shown)
		}),
	}
}

func previewCommand(shared *flags, term terminal) *cobra.Command {
	var edit, summary string
	var marks changedMarks
	var ofAgent bool
	command := &cobra.Command{
		Use:   "preview SESSION [TEXT]",
		Short: "Show what would be sent for a message or after a change, and what it would cost",
		Args:  cobra.MinimumNArgs(1),
		Long: "Show what would be sent for a message, or after a change: an edit of a message or of the\n" +
			"summary, other marks, other settings. With a change, also show what it costs against leaving it.\n" +
			"Nothing is written.",
	}
	settings := addSettingsPatch(command, setting.Session)
	command.RunE = shared.about(func(ctx context.Context, server *client.Client, id parley.ID, args []string) error {
		var input client.PreviewInput
		text := strings.Join(args[1:], " ")
		change, err := marks.change()
		if err != nil {
			return err
		}
		switch {
		case edit != "" && summary != "":
			return misused(command, "--edit and --summary exclude each other")
		case edit+summary != "" && text == "":
			return misused(command, "give the new text of the message that --edit or --summary names")
		case summary != "":
			of, err := parley.ParseID(summary)
			if err != nil {
				return err
			}
			change.Summary = &client.SummaryInput{MessageID: of, Text: text}
		case edit != "":
			of, err := parley.ParseID(edit)
			if err != nil {
				return err
			}
			change.Edit = &client.ChangedTextInput{MessageID: of, Content: client.UserMessage(text).Content}
		case text != "":
			input.MessageInput = client.UserMessage(text)
		}
		patch, err := settings.patch()
		if err != nil {
			return err
		}
		switch {
		case patch == parley.SettingsPatch{}:
		case ofAgent:
			change.Agent = &patch
		default:
			change.Session = &patch
		}
		if change.Edit != nil || change.Summary != nil || len(change.Marks) > 0 ||
			change.Session != nil || change.Agent != nil {
			input.Change = &change
		} else if text == "" {
			return misused(
				command,
				"give a text, or a change such as --pin MESSAGE; `parley sessions context SESSION` shows the window",
			)
		}
		shown, err := server.PreviewMessage(ctx, id, input, client.PreviewMessageQuery{})
		if err != nil {
			return err
		}
		return printPreview(shared, term, &shown)
	})
	flags := command.Flags()
	flags.StringVar(&edit, "edit", "", "the message that TEXT would replace, in a fork")
	flags.StringVar(&summary, "summary", "", "the summary that TEXT would replace")
	flags.StringSliceVar(&marks.pin, "pin", nil, "a message that would be pinned (repeatable)")
	flags.StringSliceVar(&marks.unpin, "unpin", nil, "a message that would no longer be pinned (repeatable)")
	flags.StringSliceVar(&marks.setAside, "set-aside", nil, "a message that would be set aside (repeatable)")
	flags.StringSliceVar(&marks.restore, "restore", nil, "a message that would no longer be set aside (repeatable)")
	flags.BoolVar(&ofAgent, "of-agent", false, "the settings would change for the session's agent")
	return command
}

// changedMarks are messages whose marks a preview changes.
type changedMarks struct{ pin, unpin, setAside, restore []string }

func (m *changedMarks) change() (change client.ChangeInput, err error) {
	yes, no := true, false
	for _, one := range []struct {
		ids   []string
		marks client.ChangedMarksInput
	}{
		{m.pin, client.ChangedMarksInput{Pinned: &yes}}, {m.unpin, client.ChangedMarksInput{Pinned: &no}},
		{m.setAside, client.ChangedMarksInput{SetAside: &yes}}, {m.restore, client.ChangedMarksInput{SetAside: &no}},
	} {
		for _, text := range one.ids {
			marks := one.marks
			if marks.MessageID, err = parley.ParseID(text); err != nil {
				return change, err
			}
			change.Marks = append(change.Marks, marks)
		}
	}
	return change, nil
}

func printPreview(shared *flags, term terminal, p *client.Preview) error {
	if shared.json {
		return term.printJSON(p)
	}
	fmt.Fprintf(term.out, "%s  policy %s\n", modelLabel(p.Model), p.Policy)
	fmt.Fprintf(
		term.out,
		"input %s, with the cache %s; answer up to %s (%d tokens)\n",
		price(p.Cost.Input),
		price(p.Cost.Cached),
		price(p.Cost.Output),
		p.Cost.Tokens,
	)
	fmt.Fprintln(term.out, p.Cache.Says)
	if c := p.Change; c != nil {
		fmt.Fprintf(
			term.out,
			"the change: input %s more than %s; %d tokens fewer from the cache\n%s\n",
			price(c.Extra),
			price(c.Cost.Cached),
			c.LostTokens,
			c.Says,
		)
	}
	if p.Refused != nil {
		fmt.Fprintln(term.out, "It would not be sent now:", *p.Refused)
	}
	return printExplanation(term, &p.Explanation)
}

// known is a number, or ? if it is unknown.
func known(n *int64) string {
	if n == nil {
		return "?"
	}
	return strconv.FormatInt(*n, 10)
}

func price(cost *parley.Money) string {
	if cost == nil {
		return "?"
	}
	return "$" + cost.String()
}
