package sqlite

import (
	"context"
	"fmt"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// Targets for a long session: a page of 50 in at most 1 ms, 10,000 messages in pages of 1,000 in at most 60 ms, and the
// same cost per page at 100,000.
func BenchmarkMessages(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		db := opened(b)
		scope, session := filled(b, db, n)
		read := func(b *testing.B, query store.MessageQuery, want int) []parley.Message {
			messages, err := db.Messages(context.Background(), scope, session, query)
			if err != nil || len(messages) != want {
				b.Fatalf("%d messages, %v; want %d", len(messages), err, want)
			}
			return messages
		}
		b.Run(fmt.Sprintf("page of 50/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				read(b, store.MessageQuery{AfterSequence: int64(n) / 2, Limit: 50}, 50)
			}
		})
		b.Run(fmt.Sprintf("last page of 50/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				read(b, store.MessageQuery{Descending: true, Limit: 50}, 50)
			}
		})
		b.Run(fmt.Sprintf("ten pages of 1000/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				after := int64(n) - 10_000
				for range 10 {
					page := read(b, store.MessageQuery{AfterSequence: after, RecordOnly: true, Limit: 1000}, 1000)
					after = page[len(page)-1].Sequence
				}
			}
		})
		b.Run(fmt.Sprintf("ids of 1000/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				refs, err := db.MessageIDs(context.Background(), scope, session, store.MessageQuery{Limit: 1000})
				if err != nil || len(refs) != 1000 {
					b.Fatalf("%d ids, %v", len(refs), err)
				}
			}
		})
		b.Run(fmt.Sprintf("context tail of 10/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				messages, _, err := db.ContextTail(
					context.Background(),
					scope.WorkspaceID,
					session,
					0,
					10,
					parley.MaxPageBytes,
				)
				if err != nil || len(messages) != 10 {
					b.Fatalf("%d messages, %v", len(messages), err)
				}
			}
		})
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	db := opened(b)
	hash := parley.HashOf([]byte("a key of the benchmark"))
	if _, err := db.CreateKey(
		context.Background(),
		store.NewKey{Key: parley.Key{Workspace: "bench", Name: "bench", Role: parley.RoleAdmin}, Hash: hash},
	); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := db.Authenticate(context.Background(), hash); err != nil {
			b.Fatal(err)
		}
	}
}
