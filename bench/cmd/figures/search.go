package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/internal/words"
	"example.org/parley/postgres"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// The searched texts: words with frequencies as in natural languages, in sessions of this many messages each.
const (
	searchVocabulary = 30_000
	searchSession    = 100
	searchWriters    = 32
	searchRuns       = 5
)

// searchFigures measures indexing a message, and searching among many.
func searchFigures(ctx context.Context, l *lab, out io.Writer) error {
	dir := filepath.Join(l.dir, "search")
	one, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return err
	}
	err = searchIn(ctx, one, l.messages, "SQLite", out)
	if err = errors.Join(err, one.Close(), os.RemoveAll(dir)); err != nil {
		return err
	}
	url, err := l.database(ctx)
	if err != nil {
		return err
	}
	other, err := postgres.Open(ctx, url, postgres.Options{MaxConns: searchWriters})
	if err != nil {
		return err
	}
	return errors.Join(searchIn(ctx, other, l.messages, "PostgreSQL", out), other.Close())
}

func searchIn(ctx context.Context, db store.Store, messages int, name string, out io.Writer) error {
	vocabulary := searchWords()
	scope, err := fillSearch(ctx, db, messages, vocabulary)
	if err != nil {
		return err
	}
	began, transactions := time.Now(), []time.Duration(nil)
	for more := true; more; {
		step, _, err := db.TakeSearchStep(ctx, true)
		if err != nil {
			return err
		}
		for left := step.Sessions; len(left) > 0; {
			at := time.Now()
			if left, err = db.IndexSessions(ctx, left); err != nil {
				return err
			}
			transactions = append(transactions, time.Since(at))
		}
		if err := db.EndSearchStep(ctx, step, 0); err != nil {
			return err
		}
		more = !step.Last.IsZero()
	}
	fmt.Fprintf(
		out,
		"%s, %d messages: %.0f µs to index one; a transaction of %d takes %s\n",
		name,
		messages,
		float64(time.Since(began).Microseconds())/float64(messages),
		store.SearchBatch,
		medianOf(transactions),
	)
	stranger := scope
	stranger.ViewerID = parley.NewID()
	for _, query := range []struct {
		what, text string
		scope      store.Scope
	}{
		{"the commonest word", vocabulary[0] + " ", scope}, {"a common word", vocabulary[20] + " ", scope},
		{"a rare word", "zebrafink ", scope}, {"no match", "nothingatall ", scope},
		{"two common words", vocabulary[0] + " " + vocabulary[1] + " ", scope},
		{"a phrase of two", `"` + vocabulary[0] + " " + vocabulary[1] + `"`, scope},
		{"a rare phrase", `"zebrafink sings"`, scope},
		{"three letters of a word", vocabulary[20][:3], scope}, {"a word as it is written", vocabulary[20], scope},
		{"the commonest word, all hidden", vocabulary[0] + " ", stranger},
	} {
		terms, err := words.Parse(query.text)
		if err != nil {
			return err
		}
		var took []time.Duration
		hits := 0
		for range searchRuns {
			at := time.Now()
			page, err := db.Search(ctx, query.scope, store.SearchQuery{Terms: terms, Limit: store.DefaultHits})
			if err != nil {
				return err
			}
			took, hits = append(took, time.Since(at)), len(page.Hits)
		}
		fmt.Fprintf(out, "  %-32s %8s (%d on the page)\n", query.what, medianOf(took).Round(10*time.Microsecond), hits)
	}
	return nil
}

// searchWords makes up words, always the same.
func searchWords() []string {
	syllables := strings.Fields(
		"ka lo mi ter on ing pre con de ro sta ne vi lu fra gor pel wu zen tok bri sha dum quo xen",
	)
	random := rand.New(rand.NewSource(7)) //nolint:gosec // no secret
	made, known := make([]string, 0, searchVocabulary), map[string]bool{}
	for len(made) < searchVocabulary {
		var word string
		for range 2 + random.Intn(3) {
			word += syllables[random.Intn(len(syllables))]
		}
		if !known[word] {
			known[word] = true
			made = append(made, word)
		}
	}
	return made
}

// fillSearch posts messages of 10 to 110 words; one in a thousand has a rare phrase.
func fillSearch(
	ctx context.Context,
	store store.Store,
	messages int,
	vocabulary []string,
) (scope store.Scope, err error) {
	if scope.WorkspaceID, err = store.Workspace(ctx, parley.DefaultWorkspace); err != nil {
		return scope, err
	}
	owner, err := store.LocalOwner(ctx, scope.WorkspaceID)
	if err != nil {
		return scope, err
	}
	agent, err := store.Agent(ctx, scope.WorkspaceID, parley.BuiltinAgentSlug)
	if err != nil {
		return scope, err
	}
	texts := make(chan string, searchWriters)
	go func() { // ends with the last text, or once every writer has failed
		defer close(texts)
		random := rand.New(rand.NewSource(3)) //nolint:gosec // no secret
		often := rand.NewZipf(random, 1.15, 3, searchVocabulary-1)
		for i := range messages {
			var text strings.Builder
			for range 10 + random.Intn(100) {
				text.WriteString(vocabulary[often.Uint64()] + " ")
			}
			if i%1000 == 7 {
				text.WriteString("zebrafink sings")
			}
			select {
			case texts <- text.String():
			case <-ctx.Done():
				return
			}
		}
	}()
	var wg sync.WaitGroup
	failures := make([]error, searchWriters)
	for i := range failures {
		wg.Go(func() { failures[i] = writeSearch(ctx, store, scope, owner, agent.ID, texts) })
	}
	wg.Wait()
	return scope, errors.Join(failures...)
}

func writeSearch(
	ctx context.Context,
	db store.Store,
	scope store.Scope,
	owner parley.Principal,
	agent parley.ID,
	texts <-chan string,
) error {
	var session parley.ID
	written := 0
	for text := range texts {
		if written%searchSession == 0 {
			opened, err := db.EnsureSession(ctx, scope, store.NewSession{Session: parley.Session{
				ID:          parley.NewID(),
				LogID:       parley.NewID(),
				WorkspaceID: scope.WorkspaceID,
				AgentID:     agent,
				OwnerID:     owner.ID,
				Title:       "A session",
				Visibility:  parley.VisibilityPrivate,
				Kind:        parley.KindAgent,
				Mode:        parley.ModeForeground,
				Tags:        []string{},
				Metadata:    []byte("{}"),
			}}, parley.ID{})
			if err != nil {
				return err
			}
			session = opened.Session.ID
		}
		written++
		content, err := parley.EncodeContent(parley.UserContent{Text: text})
		if err != nil {
			return err
		}
		if _, err := db.PostMessage(
			ctx,
			scope,
			session,
			store.NewMessage{
				ID:       parley.NewID(),
				Role:     parley.RoleUser,
				Author:   owner.Author(),
				Content:  content,
				Metadata: []byte("{}"),
			},
			parley.ID{},
		); err != nil {
			return err
		}
	}
	return nil
}
