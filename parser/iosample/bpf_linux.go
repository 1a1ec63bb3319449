package iosample

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// bpfSource counts syncs by a program on the file system's tracepoints, which
// sends an event for each.
type bpfSource struct {
	detail  string
	counter *eventCounter
	events  *ebpf.Map
	lost    *ebpf.Map // how many events found no room: beginnings, ends
	reader  *ringbuf.Reader
	closers []interface{ Close() error }
	record  ringbuf.Record
	counted Counted
	perCPU  []uint64
	dropped int64 // events, of either kind, when last read
	recent  bool  // some of these between the last two reads
}

// bpfOptions are what tests change.
type bpfOptions struct {
	ring   int  // bytes, a power of two
	byName bool // attach by name alone
}

// bpfDefaults have room for 20,000 events: at ten reads a second, for 100,000
// syncs a second on ext4.
var bpfDefaults = bpfOptions{ring: 1 << 20}

// recordBytes is the size of one event: time, process and thread, inode,
// size, device, and what it is.
const recordBytes = 8 + 8 + 8 + 8 + 4 + 4

// openBPF loads and attaches the programs. The error names the capability or
// the kernel feature that is missing.
func openBPF(files serverFiles) (Source, error) {
	s, err := loadBPF(files, bpfDefaults)
	if err != nil {
		return nil, err // not a nil *bpfSource, which is no nil Source
	}
	return s, nil
}

func loadBPF(files serverFiles, o bpfOptions) (_ *bpfSource, err error) {
	// 1. The file systems. Of those that hold the binlog all must tell.
	devices := map[string][]uint64{}
	var without []string
	for _, dev := range files.Devices() {
		fs := files.FSType(dev)
		if _, ok := syncTracepoints[fs]; ok {
			devices[fs] = append(devices[fs], dev)
			continue
		}
		without = append(without, fs)
		if b, ok := files.Binlog(); ok && b.ID.Dev == dev || len(files.Devices()) == 1 {
			return nil, fmt.Errorf("%s has no sync tracepoint: ext4 and xfs have", fs)
		}
	}
	if len(devices) == 0 && len(without) > 0 {
		return nil, fmt.Errorf("none of %s has a sync tracepoint: ext4 and xfs have", strings.Join(without, ", "))
	}
	if len(devices) == 0 {
		return nil, errors.New("no file of the server was found on a file system with a sync tracepoint: ext4 and xfs have one")
	}

	// 2. The kernel's types, which say where in a structure a field is.
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, fmt.Errorf("the kernel's types (BTF) cannot be read: needs a kernel built with CONFIG_DEBUG_INFO_BTF: %w", err)
	}
	_ = rlimit.RemoveMemlock() // refused without CAP_SYS_RESOURCE, and not needed since Linux 5.11

	s := &bpfSource{counter: newEventCounter(files)}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.events, err = ebpf.NewMap(&ebpf.MapSpec{Name: "bgcstat_syncs", Type: ebpf.RingBuf, MaxEntries: uint32(o.ring)}); err != nil {
		return nil, fmt.Errorf("ring buffer: %w", plainBPF(err))
	}
	s.closers = append(s.closers, s.events)
	if s.lost, err = ebpf.NewMap(&ebpf.MapSpec{Name: "bgcstat_lost", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: 2}); err != nil {
		return nil, fmt.Errorf("array: %w", plainBPF(err))
	}
	s.closers = append(s.closers, s.lost)

	// 3. A program on each tracepoint.
	var names []string
	for _, fs := range slices.Sorted(maps.Keys(devices)) {
		for _, tp := range syncTracepoints[fs] {
			how, err := s.attach(tp, fs, kernel, devices[fs], o.byName)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", tp.name, plainBPF(err))
			}
			if tp.kind != ends {
				names = append(names, tp.name+how)
			}
		}
	}
	s.detail = strings.Join(names, ", ")
	if len(without) > 0 {
		s.detail += "; nothing of files on " + strings.Join(without, ", ")
	}
	if s.reader, err = ringbuf.NewReader(s.events); err != nil {
		return nil, fmt.Errorf("ring buffer: %w", err)
	}
	s.closers = append(s.closers, s.reader)
	return s, nil
}

// plainBPF names what a refusal is about. Kernels give EPERM for every missing
// capability.
func plainBPF(err error) error {
	var v *ebpf.VerifierError
	switch {
	case errors.As(err, &v) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES):
		return fmt.Errorf("the kernel's verifier refuses the program: %w", v)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w: needs %s", unix.EPERM, missingForBPF())
	case errors.Is(err, ebpf.ErrNotSupported):
		return fmt.Errorf("needs Linux 5.8 or later: %w", err)
	default:
		return err
	}
}

// missingForBPF names the capabilities that this process lacks.
func missingForBPF() string {
	var missing []string
	for _, c := range []struct {
		bit  uint
		name string
	}{{unix.CAP_BPF, "CAP_BPF"}, {unix.CAP_PERFMON, "CAP_PERFMON"}} {
		if !hasCapability(c.bit) && !hasCapability(unix.CAP_SYS_ADMIN) {
			missing = append(missing, c.name)
		}
	}
	if len(missing) == 0 {
		return "a kernel that is not locked down (lockdown=confidentiality) and a container that allows bpf(2)"
	}
	return strings.Join(missing, " and ")
}

// hasCapability reports whether the capability is effective.
func hasCapability(bit uint) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[bit/32].Effective&(1<<(bit%32)) != 0
}

// attach loads the program for a tracepoint and attaches it: by the type of
// the tracepoint where the kernel, or the module that the file system is in,
// has it, else by its name, which needs the fields of the kernel only. It
// returns a word on which it was.
func (s *bpfSource) attach(tp syncTracepoint, fs string, kernel *btf.Spec, devices []uint64, byName bool) (how string, err error) {
	offsets, err := findOffsets(tp, fs, kernel)
	if err != nil {
		return "", err
	}
	var l link.Link
	if !byName {
		l, err = loadAndAttach(s.program(tp, offsets, devices, true), tp.name)
	}
	if l == nil {
		var errByName error
		if l, errByName = loadAndAttach(s.program(tp, offsets, devices, false), tp.name); errByName != nil {
			return "", cmp.Or(err, errByName)
		}
		how = " by name"
	}
	s.closers = append(s.closers, l)
	return how, nil
}

func loadAndAttach(spec *ebpf.ProgramSpec, name string) (link.Link, error) {
	prog, err := ebpf.NewProgram(spec)
	if err != nil {
		return nil, err
	}
	defer prog.Close() // the link holds it
	if spec.Type == ebpf.Tracing {
		return link.AttachTracing(link.TracingOptions{Program: prog})
	}
	return link.AttachRawTracepoint(link.RawTracepointOptions{Name: name, Program: prog})
}

// offsets are the places of fields in the kernel's structures, in bytes.
type offsets struct {
	toInode  int16 // of the pointer to the inode in the first argument, or of the inode itself
	pointer  bool  // toInode is that of a pointer
	sb, ino  int16
	size     int16
	superDev int16
}

func findOffsets(tp syncTracepoint, fs string, kernel *btf.Spec) (o offsets, err error) {
	find := func(spec *btf.Spec, structure, field string) int16 {
		if err != nil {
			return 0
		}
		var s *btf.Struct
		if e := spec.TypeByName(structure, &s); e != nil {
			err = fmt.Errorf("struct %s: %w", structure, e)
			return 0
		}
		at, ok := fieldOffset(s.Members, field)
		if !ok || at > 1<<14 {
			err = fmt.Errorf("struct %s has no field %s", structure, field)
		}
		return int16(at)
	}
	switch tp.arg {
	case "file":
		o.toInode, o.pointer = find(kernel, "file", "f_inode"), true
	case "xfs_inode":
		module := kernel
		var s *btf.Struct
		if kernel.TypeByName("xfs_inode", &s) != nil {
			if module, err = btf.LoadKernelModuleSpec(fs); err != nil {
				return o, fmt.Errorf("the types (BTF) of module %s cannot be read: %w", fs, err)
			}
		}
		o.toInode = find(module, "xfs_inode", "i_vnode")
	}
	o.sb, o.ino, o.size = find(kernel, "inode", "i_sb"), find(kernel, "inode", "i_ino"), find(kernel, "inode", "i_size")
	o.superDev = find(kernel, "super_block", "s_dev")
	return o, err
}

// fieldOffset finds a field, also inside unnamed structures and unions.
func fieldOffset(members []btf.Member, field string) (bytes uint32, ok bool) {
	for _, m := range members {
		if m.Name == field {
			return m.Offset.Bytes(), true
		}
		if m.Name != "" {
			continue
		}
		var inner []btf.Member
		switch t := btf.UnderlyingType(m.Type).(type) {
		case *btf.Struct:
			inner = t.Members
		case *btf.Union:
			inner = t.Members
		}
		if at, ok := fieldOffset(inner, field); ok {
			return m.Offset.Bytes() + at, true
		}
	}
	return 0, false
}

// statDev is the reverse of kernelDev.
func statDev(dev uint32) uint64 { return unix.Mkdev(dev>>20, dev&(1<<20-1)) }

// program writes the program for a tracepoint: it reads the inode that the
// first argument leads to, passes over file systems that are not asked for, and
// sends a record. A typed program reads kernel memory as the verifier lets it,
// the other by a helper.
func (s *bpfSource) program(tp syncTracepoint, o offsets, devices []uint64, typed bool) *ebpf.ProgramSpec {
	const (
		ctx   = asm.R6
		inode = asm.R7
		dev   = asm.R8
		rec   = asm.R9
		stack = -8
	)
	var in asm.Instructions
	emit := func(i ...asm.Instruction) { in = append(in, i...) }
	// read loads a field of the structure that src points to.
	read := func(dst, src asm.Register, off int16, size asm.Size) {
		if typed {
			emit(asm.LoadMem(dst, src, off, size))
			return
		}
		emit(
			asm.Mov.Reg(asm.R3, src), asm.Add.Imm(asm.R3, int32(off)),
			asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.RFP, stack, asm.R1, asm.DWord),
			asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, stack),
			asm.Mov.Imm(asm.R2, int32(size.Sizeof())),
			asm.FnProbeReadKernel.Call(),
			asm.LoadMem(dst, asm.RFP, stack, size),
		)
	}

	// 1. The inode.
	emit(asm.Mov.Reg(ctx, asm.R1), asm.LoadMem(inode, ctx, 0, asm.DWord))
	if o.pointer {
		read(inode, inode, o.toInode, asm.DWord)
	} else if o.toInode != 0 {
		emit(asm.Add.Imm(inode, int32(o.toInode)))
	}

	// 2. Its file system.
	read(dev, inode, o.sb, asm.DWord)
	read(dev, dev, o.superDev, asm.Word)
	for _, d := range devices {
		emit(asm.JEq.Imm32(dev, int32(kernelDev(d)), "wanted"))
	}
	emit(asm.Ja.Label("out"))

	// 3. The record.
	emit(
		asm.LoadMapPtr(asm.R1, s.events.FD()).WithSymbol("wanted"),
		asm.Mov.Imm(asm.R2, recordBytes),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.Mov.Reg(rec, asm.R0),
		asm.JEq.Imm(rec, 0, "full"),
		asm.StoreMem(rec, 32, dev, asm.Word),
		asm.Mov.Imm(asm.R1, int32(tp.kind)),
		asm.StoreMem(rec, 36, asm.R1, asm.Word),
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(rec, 0, asm.R0, asm.DWord),
		asm.FnGetCurrentPidTgid.Call(),
		asm.StoreMem(rec, 8, asm.R0, asm.DWord),
	)
	read(asm.R1, inode, o.ino, asm.DWord)
	emit(asm.StoreMem(rec, 16, asm.R1, asm.DWord))
	read(asm.R1, inode, o.size, asm.DWord)
	emit(
		asm.StoreMem(rec, 24, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R1, rec),
		asm.Mov.Imm(asm.R2, unix.BPF_RB_NO_WAKEUP), // it is read at intervals
		asm.FnRingbufSubmit.Call(),
		asm.Ja.Label("out"),
	)

	// 4. No room: count what is lost.
	key := int32(0)
	if tp.kind == ends {
		key = 1
	}
	emit(
		asm.Mov.Imm(asm.R1, key).WithSymbol("full"),
		asm.StoreMem(asm.RFP, stack, asm.R1, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, stack),
		asm.LoadMapPtr(asm.R1, s.lost.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	)
	spec := &ebpf.ProgramSpec{Name: "bgcstat_sync", Type: ebpf.RawTracepoint, License: "GPL", Instructions: in}
	if typed {
		spec.Type, spec.AttachType, spec.AttachTo = ebpf.Tracing, ebpf.AttachTraceRawTp, tp.name
	}
	return spec
}

func (s *bpfSource) Name() string         { return "bpf" }
func (s *bpfSource) Exactness() Exactness { return Exact }
func (s *bpfSource) Detail() string       { return s.detail }

// Read takes all events that are in the ring buffer.
func (s *bpfSource) Read(_ context.Context, last bool) (*Counted, error) {
	until := monotonic() // what came before has its place in the buffer
	if err := s.drain(); err != nil {
		return nil, err
	}
	var lost [2]int64
	for key := range lost {
		if err := s.lost.Lookup(uint32(key), &s.perCPU); err != nil {
			return nil, fmt.Errorf("count of lost events: %w", err)
		}
		for _, n := range s.perCPU {
			lost[key] += int64(n)
		}
	}
	// After a loss a sync that is not known to have ended may have, and must hold
	// up none of those behind it; also where its beginning is read only now.
	recent := lost[0]+lost[1] > s.dropped
	s.counted.Counts, s.counted.Events = s.counter.flush(until, last || recent || s.recent)
	s.dropped, s.recent = lost[0]+lost[1], recent
	s.counted.Lost = lost[0]
	return &s.counted, nil
}

func (s *bpfSource) drain() error {
	s.reader.SetDeadline(time.Unix(1, 0)) // in the past: what is there, without waiting
	for {
		err := s.reader.ReadInto(&s.record)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("ring buffer: %w", err)
		}
		if b := s.record.RawSample; len(b) >= recordBytes {
			u64, u32 := binary.NativeEndian.Uint64, binary.NativeEndian.Uint32
			s.counter.add(rawEvent{
				end: u32(b[36:]) == ends, endFollows: u32(b[36:]) == begins, mono: int64(u64(b)),
				tgid: u32(b[12:]), tid: u32(b[8:]),
				file: FileID{statDev(u32(b[32:])), u64(b[16:])}, size: int64(u64(b[24:])),
			})
		}
	}
}

func (s *bpfSource) Close() error {
	var err error
	for _, c := range slices.Backward(s.closers) {
		err = errors.Join(err, c.Close())
	}
	s.closers = nil
	return err
}
