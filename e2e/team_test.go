package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/client"
)

// citation is how a briefing names the message that a claim comes from.
var citation = regexp.MustCompile(`\[([0-9a-f-]{36}):(\d+)\]`)

// TestTheExampleTeamSurvivesItsServer: a newcomer starts the example team, the server is killed twice while it works,
// and the inbox has one briefing for each piece of work, whose claims lead to the messages that they come from.
func TestTheExampleTeamSurvivesItsServer(t *testing.T) { onEach(t, exampleTeamSurvives) }

func exampleTeamSurvives(t *testing.T, at place) {
	lease := []string{"--lease", shortLease.String()}
	s := startAt(t, at, lease...)
	team, err := s.client.EnsureExampleTeam(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	works := []string{"Prepare the first briefing"}
	for _, day := range []string{"Monday", "Tuesday", "Wednesday"} {
		work := "Prepare the briefing of " + day
		works = append(works, work)
		if _, err := s.client.GiveTask(t.Context(), team.Slug, client.TaskInput{Text: work + "."}); err != nil {
			t.Fatal(err)
		}
	}
	onFeed(
		t,
		s.client,
		"a task is handed over",
		func() bool { return len(delegated(t, s.client, parley.DelegationTask)) > 0 },
	)
	s.kill()
	s = startAt(t, at, lease...)
	onFeed(t, s.client, "a task is answered", func() bool {
		return slices.ContainsFunc(delegated(t, s.client, parley.DelegationTask), func(d parley.Delegation) bool {
			return d.Status == parley.DelegationAnswered
		})
	})
	s.kill()
	s = startAt(t, at, lease...)

	repeated, err := s.client.EnsureExampleTeam(t.Context())
	if err != nil || repeated.LeadID != team.LeadID || len(repeated.Members) != len(team.Members) {
		t.Errorf("the team is %+v afterwards (%v), and was %+v", repeated, err, team)
	}
	var briefings []parley.InboxItem
	onFeed(t, s.client, "everything is briefed", func() bool {
		briefings = inboxOf(t, s.client, parley.InboxBriefing)
		return len(briefings) >= len(works) && len(inboxOf(t, s.client, parley.InboxQuestion)) > 0
	})
	question := inboxOf(t, s.client, parley.InboxQuestion)[0]
	if _, err := s.client.AnswerInboxItem(
		t.Context(),
		question.ID,
		client.InboxAnswerInput{Text: "The first."},
	); err != nil {
		t.Fatal(err)
	}
	onFeed(t, s.client, "every delegation has ended", func() bool {
		return !slices.ContainsFunc(delegated(t, s.client), func(d parley.Delegation) bool {
			return !d.Finished() || d.Kind.Asks() && d.ReturnMessageID.IsZero()
		})
	})
	for _, d := range delegated(t, s.client) {
		if d.Status != parley.DelegationAnswered && d.Kind.Asks() || d.Status == parley.DelegationFailed {
			t.Errorf("the %s %q is %s: %s", d.Kind, d.Title(), d.Status, d.Reason)
		}
	}
	for i := range team.Members {
		settled(t, s.client, team.Members[i].Background.SessionID, turnDeadline)
		record(t, s.client, team.Members[i].Background.SessionID)
	}
	var titles []string
	for _, item := range inboxOf(t, s.client, parley.InboxBriefing) {
		titles = append(titles, item.Title)
		checkBriefing(t, s.client, &item)
	}
	slices.Sort(titles)
	slices.Sort(works)
	if diff := cmp.Diff(works, titles); diff != "" {
		t.Errorf("the briefings (-want +got):\n%s", diff)
	}
}

// checkBriefing follows each citation of a briefing: the message exists, and says what is claimed.
func checkBriefing(t *testing.T, c *client.Client, item *parley.InboxItem) {
	t.Helper()
	if item.Summary != "4 of 4 agents answered." {
		t.Errorf("%q says %q", item.Title, item.Summary)
	}
	m, err := c.Message(t.Context(), item.MessageID)
	if err != nil {
		t.Fatal(err)
	}
	claims := 0
	for line := range strings.Lines(text(t, m)) {
		claim, isClaim := strings.CutPrefix(line, "- **")
		if !isClaim {
			continue
		}
		claims++
		_, claim, _ = strings.Cut(claim, ": ")
		cited := citation.FindStringSubmatch(claim)
		if cited == nil {
			t.Errorf("%q cites nothing for %q", item.Title, line)
			continue
		}
		claim, _, _ = strings.Cut(claim, " [")
		if said := citedText(t, c, cited[1], cited[2]); !strings.Contains(said, claim) {
			t.Errorf("%q claims %q, and the message that it cites says %q", item.Title, claim, said)
		}
	}
	if claims != 4 {
		t.Errorf("%q has %d claims:\n%s", item.Title, claims, text(t, m))
	}
}

// citedText is the text of the message that a citation leads to.
func citedText(t *testing.T, c *client.Client, sessionID, sequence string) string {
	t.Helper()
	id, err := parley.ParseID(sessionID)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(sequence, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	messages := record(t, c, id)
	i := slices.IndexFunc(messages, func(m parley.Message) bool { return m.Sequence == n })
	if i < 0 {
		t.Errorf("session %s has no message %d", id, n)
		return ""
	}
	return text(t, messages[i])
}

// onFeed waits until something holds, and looks whenever the workspace's feed tells of a change.
func onFeed(t *testing.T, c *client.Client, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for _, err := range c.WatchWorkspace(ctx, client.WatchWorkspaceQuery{}) {
		if err != nil {
			t.Fatalf("waiting until %s: %v; %s", what, err, standing(t, c))
		}
		if holds() {
			return
		}
	}
	t.Fatalf("it took longer than %s until %s; %s", turnDeadline, what, standing(t, c))
}

// standing describes what is going on, for a test that waits in vain.
func standing(t *testing.T, c *client.Client) string {
	t.Helper()
	var out strings.Builder
	for _, d := range delegated(t, c) {
		fmt.Fprintf(&out, "%s %q %s; ", d.Kind, d.Title(), d.Status)
	}
	return out.String()
}

// delegated lists the delegations of some kinds, or all.
func delegated(t *testing.T, c *client.Client, kinds ...parley.DelegationKind) (all []parley.Delegation) {
	t.Helper()
	for d, err := range c.AllDelegations(t.Context(), client.DelegationsQuery{Kind: kinds}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// inboxOf lists the items of a type.
func inboxOf(t *testing.T, c *client.Client, kind parley.InboxType) (items []parley.InboxItem) {
	t.Helper()
	for item, err := range c.AllInbox(t.Context(), client.InboxQuery{Type: []parley.InboxType{kind}}) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	return items
}
