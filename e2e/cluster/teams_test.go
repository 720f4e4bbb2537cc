package cluster

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// The size of the trials of teams: the whole one takes minutes.
var (
	leads = flag.Int("leads", 12, "how many teams the trials of teams have; 200 for 5,000 delegations")
	plans = flag.Int("plans", 2, "how often each lead hands out work; 3 for 5,000 delegations")
)

// The proportions of those trials.
const (
	teamSize    = 5                      // subordinates of a lead
	teamSpread  = 400 * time.Millisecond // mean time between two plans
	teamWork    = 12                     // turns that end between two faults, or as many as there are leads
	teamCancels = 40                     // one of so many tasks is cancelled
	teamSettle  = 4 * time.Second        // of each team, at most
	teamPage    = 200                    // delegations read at once
	teamBound   = 30 * time.Minute
)

// TestTeams: whatever happens to three processes, every delegation ends once, every answer arrives once, no message and
// no schedule runs twice, and schedules that repeat lose no time: failures 10 to 14, 30 to 35, 41 and 42.
func TestTeams(t *testing.T) {
	row(t, func(t *testing.T, at uint64) {
		teams(newTrial(t, at, postgresDatabase(t), 3, 2))
	})
}

// TestTeamsOnSQLite is the trial with the single process that SQLite allows.
func TestTeamsOnSQLite(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, at uint64) {
		teams(newTrial(t, at, sqliteFile(), 1, 2))
	})
}

// company is the teams of a trial and what they were told to do.
type company struct {
	x         *trial
	teams     []*team
	mu        sync.Mutex // guards what follows
	schedules []planned
	rhythms   []*rhythm
	stopped   bool // the rhythms are paused
}

// team is a lead with its subordinates.
type team struct {
	account *account
	random  *rand.Rand
	lead    string   // slug
	members []string // slugs
	byHand  []job    // plans given as tasks
	byClock []job    // plans posted by a schedule
}

// planned is a schedule that is to run once.
type planned struct {
	account *account
	id      parley.ID
	plan    job
}

// teams lets leads hand out work, breaks something after every few turns, and checks the record once everything is
// quiet.
func teams(x *trial) {
	defer x.tell()
	ctx, cancel := context.WithTimeout(x.t.Context(), teamBound)
	defer cancel()
	c := &company{x: x}
	c.hire(ctx)
	c.keepTime(ctx)
	breaking, whole := context.WithCancel(ctx)
	defer whole()
	var breaks, load sync.WaitGroup
	began := time.Now()
	breaks.Go(func() { newFaults(x, max(teamWork, *leads)).run(breaking) })
	for _, t := range c.teams {
		load.Go(func() { c.work(ctx, t) })
	}
	cancelling, enough := context.WithCancel(ctx)
	defer enough()
	breaks.Go(func() { c.changeMinds(cancelling) })
	load.Wait()
	x.t.Logf("the orders took %s", time.Since(began).Round(time.Second))
	c.rest(ctx, 1)
	whole()
	enough()
	breaks.Wait()
	c.stopTime(ctx)
	c.rest(ctx, 3)
	x.t.Logf("the work took %s", time.Since(began).Round(time.Second))
	x.checkNothingLeft()
	if ctx.Err() != nil {
		x.problem("the trial took longer than %s", teamBound)
	}
	x.terminate()
	c.verify()
}

// hire makes the agents.
func (c *company) hire(ctx context.Context) {
	c.x.t.Helper()
	const writers = 8
	for i := range *leads {
		c.teams = append(c.teams, &team{
			account: c.x.accounts[i%len(c.x.accounts)],
			random:  rand.New(rand.NewPCG(c.x.seed, 1<<43+uint64(i))),
			lead:    fmt.Sprintf("lead-%d", i),
		})
	}
	var hiring sync.WaitGroup
	for writer := range writers {
		hiring.Go(func() {
			for i := writer; i < len(c.teams); i += writers {
				if err := c.teams[i].hire(ctx); err != nil {
					c.x.problem("hiring a team: %v", err)
				}
			}
		})
	}
	hiring.Wait()
	if c.x.t.Failed() {
		c.x.t.FailNow()
	}
}

func (t *team) hire(ctx context.Context) error {
	hirer := t.account.clients[0]
	input := client.AgentInput{Slug: t.lead, Name: t.lead}
	model := parley.ModelID("openai/" + teamModel)
	input.Model = model
	input.Policy = &parley.Policy{Kind: parley.PolicySingle}
	drawn := false // the trial counts the calls of each turn
	input.DrawKnowledge = &drawn
	lead, err := hirer.CreateAgent(ctx, input)
	for i := 0; i < teamSize && err == nil; i++ {
		input.Slug = fmt.Sprintf("%s-%d", t.lead, i)
		input.Name, input.LeadID = input.Slug, lead.Slug
		t.members = append(t.members, input.Slug)
		_, err = hirer.CreateAgent(ctx, input)
	}
	return err
}

// plan makes up work for the whole team.
func (t *team) plan(x *trial) job {
	one := func(of int) bool { return t.random.IntN(of) == 0 }
	o := job{N: int(x.next.Add(1)), Brief: true, PaceMS: t.random.IntN(10)}
	for _, member := range t.members {
		o.Tasks = append(o.Tasks, job{
			N: int(x.next.Add(1)), To: member, Ask: one(2), Note: one(3), Final: one(5), PaceMS: t.random.IntN(20),
		})
	}
	return o
}

// work gives a lead its plans: the first by a schedule that runs once, the others by hand.
func (c *company) work(ctx context.Context, t *team) {
	within := time.Duration(len(c.teams)) * teamSpread
	first := t.plan(c.x)
	t.byClock = append(t.byClock, first)
	input := client.ScheduleInput{AgentID: t.lead, Message: first.String()}
	input.At = parley.Now() + parley.Time((time.Second + time.Duration(t.random.Int64N(int64(within)))).Milliseconds())
	var schedule parley.Schedule
	if err := c.x.ask(ctx, t.account, t.random, func(ctx context.Context, by *client.Client) (err error) {
		schedule, err = by.CreateSchedule(ctx, input, client.IdempotencyKey(fmt.Sprint("n", first.N)))
		return err
	}); err != nil {
		c.x.problem("a schedule of %s: %v", t.lead, err)
		return
	}
	c.mu.Lock()
	c.schedules = append(c.schedules, planned{t.account, schedule.ID, first})
	c.mu.Unlock()
	for range *plans - 1 {
		if !pause(ctx, time.Duration(t.random.Int64N(int64(within)))) {
			return
		}
		plan := t.plan(c.x)
		t.byHand = append(t.byHand, plan)
		if err := c.x.ask(ctx, t.account, t.random, func(ctx context.Context, by *client.Client) error {
			_, err := by.GiveTask(
				ctx, t.lead, client.TaskInput{Text: plan.String()}, client.IdempotencyKey(fmt.Sprint("n", plan.N)),
			)
			return err
		}); err != nil {
			c.x.problem("a task of %s: %v", t.lead, err)
		}
	}
}

// changeMinds cancels a task now and then.
func (c *company) changeMinds(ctx context.Context) {
	random := rand.New(rand.NewPCG(c.x.seed, 1<<44))
	seen := map[parley.ID]bool{}
	for pause(ctx, 300*time.Millisecond) {
		for _, a := range c.x.accounts {
			open, err := c.delegations(ctx, a, random, client.DelegationsQuery{
				Kind:   []parley.DelegationKind{parley.DelegationTask},
				Status: []parley.DelegationStatus{parley.DelegationDelivered, parley.DelegationRunning},
			})
			if err != nil {
				continue
			}
			for i := range open {
				if seen[open[i].ID] {
					continue
				}
				seen[open[i].ID] = true
				if random.IntN(teamCancels) > 0 {
					continue
				}
				err := c.x.ask(ctx, a, random, func(ctx context.Context, by *client.Client) error {
					_, err := by.CancelDelegation(ctx, open[i].ID)
					return err
				})
				switch parley.ErrorCode(err) {
				case "":
					c.x.count("delegations cancelled by people")
				case parley.CodeConflict:
					c.x.count("cancels that came too late")
				default:
					if ctx.Err() == nil {
						c.x.problem("cancelling delegation %s: %v", open[i].ID, err)
					}
				}
			}
		}
	}
}

// delegations reads all that a query selects.
func (c *company) delegations(
	ctx context.Context,
	a *account,
	random *rand.Rand,
	query client.DelegationsQuery,
) (all []parley.Delegation, err error) {
	query.Limit, query.Order = teamPage, "asc" // small enough for a machine that is busy
	for {
		var page client.Page[parley.Delegation]
		if err := c.x.ask(ctx, a, random, func(ctx context.Context, by *client.Client) (err error) {
			page, err = by.Delegations(ctx, query)
			return err
		}); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if page.Next == "" {
			return all, nil
		}
		query.Cursor = page.Next
	}
}

// rest waits until nothing has moved and nothing is open for a number of looks.
func (c *company) rest(ctx context.Context, looks int) {
	ctx, cancel := context.WithTimeout(ctx, settleBound+time.Duration(len(c.teams))*teamSettle)
	defer cancel()
	random := rand.New(rand.NewPCG(c.x.seed, 1<<45))
	open := "nothing was read"
	for quiet := 0; quiet < looks; quiet++ {
		if !pause(ctx, 400*time.Millisecond) {
			c.x.problem("the teams do not come to rest: %s", open)
			return
		}
		var err error
		if open, err = c.open(ctx, random); err != nil || open != "" {
			quiet = -1
		}
	}
}

// open names something that is not at its end; "" if everything is.
func (c *company) open(ctx context.Context, random *rand.Rand) (what string, err error) {
	for _, a := range c.x.accounts {
		var working client.Page[parley.Session]
		if err := c.x.ask(ctx, a, random, func(ctx context.Context, by *client.Client) (err error) {
			working, err = by.Sessions(ctx, client.SessionsQuery{Limit: 1 + len(c.rhythms), Mode: []parley.Mode{
				parley.ModeBackground, parley.ModeForeground,
			}, Status: []parley.SessionStatus{parley.SessionRunning, parley.SessionWaiting}})
			return err
		}); err != nil {
			return "", err
		}
		for i := range working.Data {
			if s := &working.Data[i]; !c.ticks(s) {
				return fmt.Sprintf("session %s is %s", s.ID, s.Status), nil
			}
		}
		all, err := c.delegations(ctx, a, random, client.DelegationsQuery{})
		if err != nil {
			return "", err
		}
		for i := range all {
			if d := &all[i]; !d.Finished() || d.Kind.Asks() && d.ReturnMessageID.IsZero() && !c.untold(all, d) {
				return fmt.Sprintf("%s %s is %s, its return %s", d.Kind, d.ID, d.Status, d.ReturnMessageID), nil
			}
		}
		for _, s := range c.schedules {
			if s.account != a {
				continue
			}
			var now parley.Schedule
			if err := c.x.ask(ctx, a, random, func(ctx context.Context, by *client.Client) (err error) {
				now, err = by.Schedule(ctx, s.id)
				return err
			}); err != nil {
				return "", err
			}
			if now.LastRun == nil {
				return fmt.Sprintf("schedule %s has not run", s.id), nil
			}
		}
	}
	return "", nil
}

// untold reports whether nobody needs to hear how a delegation ended: it was cancelled with the work that asked.
func (*company) untold(all []parley.Delegation, d *parley.Delegation) bool {
	if d.Status != parley.DelegationCancelled || d.ParentID.IsZero() {
		return false
	}
	for i := range all {
		if all[i].ID == d.ParentID {
			return all[i].Finished()
		}
	}
	return false
}
