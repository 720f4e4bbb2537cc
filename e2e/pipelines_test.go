package e2e

import (
	"math/rand/v2"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// TestPipelinesSurviveKills: the example pipeline is killed at random instants, again and again, and ends as if nothing
// had happened: each node has completed, and each document was written once.
func TestPipelinesSurviveKills(t *testing.T) { onEach(t, pipelinesSurviveKills) }

func pipelinesSurviveKills(t *testing.T, at place) {
	const maxEvents = 8 // between two kills; the whole run has about twenty
	runs := 2
	if testing.Short() {
		runs = 1
	}
	for n := range runs {
		s := startAt(t, at, "--lease", shortLease.String())
		run, err := s.client.StartExamplePipeline(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		id, kills := run.ID, 0
		for !run.Status.Finished() {
			left := rand.IntN(maxEvents)
			session, err := s.client.Session(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if run, err = s.client.PipelineRun(t.Context(), id); err != nil || run.Status.Finished() {
				continue
			}
			for _, err := range s.client.WatchSession(t.Context(), id,
				client.WatchSessionQuery{After: session.LastEvent}) {
				if err != nil {
					t.Fatal(err)
				}
				if run, err = s.client.PipelineRun(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				if left--; left < 0 || run.Status.Finished() {
					break
				}
			}
			if !run.Status.Finished() {
				kills++
				s.kill()
				s = startAt(t, at, "--lease", shortLease.String())
			}
		}
		if run.Status != parley.PipelineCompleted {
			t.Fatalf("run %d, killed %d times, ended as %+v", n, kills, run)
		}
		for i, count := range []int{1, 1, 3, 1} {
			if len(run.Nodes[i].Instances) != count {
				t.Fatalf("run %d, killed %d times: %+v", n, kills, run.Nodes[i])
			}
			for _, one := range run.Nodes[i].Instances {
				if one.Attempt != 1 || len(one.Outputs) != 1 {
					t.Fatalf("run %d, killed %d times: %+v", n, kills, one)
				}
			}
		}
		written, err := s.client.Artifacts(t.Context(), client.ArtifactsQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if len(written.Data) != 6*(n+1) {
			t.Fatalf("run %d, killed %d times: %d documents, want %d", n, kills, len(written.Data), 6*(n+1))
		}
		for i := range written.Data {
			if written.Data[i].Version != 1 {
				t.Fatalf("run %d, killed %d times: a document was written twice: %+v", n, kills, written.Data[i])
			}
		}
		s.kill()
	}
}
