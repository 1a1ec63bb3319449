package analysis

import "bgcstat/parser"

// maxSessions bounds the sessions that are remembered: no server allows more
// connections at once, and to forget one that has long been silent only makes
// a bound weaker.
const maxSessions = 100_000

// sessions remembers the last transaction of each session. Memory follows the
// sessions that are active, also where each transaction has its own.
type sessions struct {
	index map[uint32]int32 // into states, by thread id
	state []session
	now   int64 // ordinal of the current transaction, from 1
	// recent is where in state a thread was found last, by the low bits of its
	// id: it saves most look-ups in index.
	recent [1024]int32
}

// session is the last transaction of a session.
type session struct {
	thread  uint32
	ordinal int64         // of that transaction, 0 for none
	start   int64         // its place in its log
	number  int64         // its sequence number, 0 for none
	time    parser.Micros // of its event header
	// distrusted: transactions of this thread id began before earlier ones, so
	// that it is not one session.
	distrusted bool
}

// of gives the state of a thread, made new where there is none.
func (s *sessions) of(thread uint32) *session {
	slot := &s.recent[thread%uint32(len(s.recent))]
	if i := int(*slot); i < len(s.state) && s.state[i].thread == thread {
		return &s.state[i]
	}
	if i, ok := s.index[thread]; ok {
		*slot = i
		return &s.state[i]
	}
	if s.index == nil {
		s.index = make(map[uint32]int32)
	}
	if len(s.state) >= maxSessions {
		s.prune()
	}
	*slot = int32(len(s.state))
	s.index[thread] = *slot
	s.state = append(s.state, session{thread: thread})
	return &s.state[len(s.state)-1]
}

// prune forgets the sessions that were silent for the longest time, half of
// all or more.
func (s *sessions) prune() {
	oldest := s.now - maxSessions/2
	kept := s.state[:0]
	clear(s.index)
	for _, st := range s.state {
		if st.ordinal > oldest {
			s.index[st.thread] = int32(len(kept))
			kept = append(kept, st)
		}
	}
	s.state = kept
}
