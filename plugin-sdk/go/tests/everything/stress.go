package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	wharf "wharf-plugin"
)

// Stress is how hard to try.
type Stress struct {
	Calls int `json:"calls" description:"How many host calls that answer with a text."`
}

// Stressed is what it was like.
type Stressed struct {
	Calls int `json:"calls"`
	// How often garbage was collected, and timers fired: both must have been.
	Collected bool `json:"collected"`
	Fired     bool `json:"fired"`
}

// The host gives each answer memory of the guest's, at a moment at which the guest may call
// no import. Go's allocator would: it collects garbage, reads clocks and polls timers.
func stress(_ *wharf.Call, a Stress) (Stressed, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stop := make(chan struct{})
	var fired int
	var workers sync.WaitGroup
	workers.Go(func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fired++
			case <-stop:
				return
			}
		}
	})
	for range 4 {
		workers.Go(func() { litter(stop) })
	}
	errs := make(chan error, 4)
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() { errs <- fetchAll(a.Calls / 4) })
	}
	callers.Wait()
	close(stop)
	workers.Wait()
	runtime.ReadMemStats(&after)
	for range 4 {
		if err := <-errs; err != nil {
			return Stressed{}, err
		}
	}
	return Stressed{a.Calls, after.NumGC > before.NumGC, fired > 0}, nil
}

func litter(stop chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
			rubbish := map[string][]byte{fmt.Sprint(i): make([]byte, 1000+i%5000)}
			runtime.KeepAlive(rubbish)
			time.AfterFunc(time.Duration(i%3)*time.Millisecond, func() {})
			runtime.Gosched()
		}
	}
}

// Each request is refused with a text, which must be whole each time.
func fetchAll(calls int) error {
	want := ""
	for range calls {
		_, err := wharf.Get("https://stress.example/")
		if err == nil {
			return fmt.Errorf("the request was not refused")
		}
		if want == "" {
			want = strings.Clone(err.Error())
		}
		if err.Error() != want || !strings.Contains(want, "stress.example") {
			return fmt.Errorf("the refusal is %q, and was %q", err, want)
		}
	}
	return nil
}

// Reread is how often to read what is kept.
type Reread struct {
	Times int `json:"times"`
}

// Large and small answers in turn, many times the memory of a call: each must be given back.
func reread(_ *wharf.Call, a Reread) (string, error) {
	store, err := wharf.OpenStore()
	if err != nil {
		return "", err
	}
	large := strings.Repeat("x", 200_000)
	if err := store.SetBytes("large", []byte(large)); err != nil {
		return "", err
	}
	for i := range a.Times {
		value, _, err := store.GetBytes("large")
		if err != nil || string(value) != large {
			return "", fmt.Errorf("reading %d: %d bytes, %w", i, len(value), err)
		}
		for range i % 20 {
			if _, err := store.Keys(); err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("read %d MB", a.Times*len(large)/1_000_000), nil
}
