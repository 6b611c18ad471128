// A run as the page knows it: the fold of its frames. No drawing here, and no sums but of what is held.

export class Run {
  constructor(id) {
    this.id = id;
    this.setting = null;
    this.stating = new Set(); // tools that answer at once and say how long what they stand for takes
    this.turns = [];
    this.bill = null;
    this.stop = null;
    this.answer = null;
    this.fault = null;
    this.broken = null;
    this.endedAt = null;
    this.stated = null; // the seconds of the run with what its experts state, once it has ended
    this.outcome = null;
    this.grades = [];
    this.judgeFaults = [];
    this.judge = null; // what judges took, kept apart from the bill
    this.clock = null; // until the first word of it: how long the run goes on already is the server's to say
  }

  get finished() {
    return this.stop !== null || this.broken !== null;
  }

  /** False for an imported run whose source gives no times: what its events say of them means nothing. */
  get timed() {
    return this.setting?.timed !== false;
  }

  /** Seconds since the start, going on between frames while the run does. */
  get now() {
    if (this.endedAt !== null) return this.endedAt;
    if (this.clock === null) return 0;
    return this.clock.t + (performance.now() - this.clock.at) / 1000;
  }

  /** Seconds that the run took, as lists and rewards count them: with what experts state that do not wait. */
  get took() {
    return this.stated ?? this.now;
  }

  /** Seconds that a call took that has ended, or that its tool states; null where the source gives no times. */
  lasted(call) {
    if (!this.timed) return null;
    const passed = call.observation.finished_s - call.observation.started_s;
    return this.stating.has(call.tool) ? Math.max(passed, call.derived.busy_s) : passed;
  }

  get turn() {
    return this.turns.at(-1) ?? null;
  }

  setClock(t) {
    if (this.clock === null || t > this.now) this.clock = { t, at: performance.now() };
  }

  tool(name) {
    return this.setting.tools.find((spec) => spec.name === name) ?? { name, title: name, kind: "basic", model: null };
  }

  /** Worst case of the calls that run: dollars, and whether one of them is unknown. */
  get held() {
    let usd = 0;
    let unknown = false;
    for (const turn of this.turns) {
      if (!turn.states.get("running")) continue;
      for (const call of turn.calls) {
        if (call.state !== "running") continue;
        if (call.held === null) unknown = true;
        else usd += call.held;
      }
    }
    return { usd, unknown };
  }

  /** How often each state occurs among the calls of a turn, kept by the frames: a turn may have thousands. */
  count(turn, state, n) {
    turn.states.set(state, (turn.states.get(state) ?? 0) + n);
  }

  move(turn, call, state) {
    this.count(turn, call.state, -1);
    this.count(turn, state, 1);
    call.state = state;
  }

  /** Take one frame; returns the index in `turns` of the turn that it changed, or null. */
  feed(event) {
    this.setClock(event.t_s);
    if (event.derived?.bill) this.bill = event.derived.bill;
    const taken = TAKE[event.kind]?.(this, event);
    return taken === undefined ? null : this.turns.lastIndexOf(taken);
  }
}

const TAKE = {
  run_started(run, event) {
    run.setting = event.setting;
    run.stating = new Set(event.derived.stating);
  },
  turn_started(run, event) {
    const turn = {
      index: event.turn,
      started: event.t_s,
      generated: null,
      finished: null,
      generation: null,
      spent: null,
      text: { reasoning: "", content: "" },
      calls: [],
      open: new Map(), // calls without an observation, by id; a list, because a model may repeat an id
      states: new Map(),
    };
    run.turns.push(turn);
    return turn;
  },
  streamed(run, event) {
    run.turn.text[event.channel] += event.text;
    return run.turn;
  },
  generated(run, event) {
    const turn = run.turn;
    turn.generated = event.t_s;
    turn.generation = event.generation;
    turn.spent = event.derived;
    turn.text = { reasoning: event.generation.reasoning, content: event.generation.content };
    turn.calls = event.generation.calls.map((call) => ({
      ...call,
      state: "waiting",
      started: null,
      held: null,
      observation: null,
      derived: null,
      fault: null,
    }));
    turn.states = new Map([["waiting", turn.calls.length]]);
    turn.open = new Map();
    for (const call of turn.calls) turn.open.set(call.id, [...(turn.open.get(call.id) ?? []), call]);
    return turn;
  },
  call_started(run, event) {
    const call = first(run, event.call_id);
    run.move(run.turn, call, "running");
    call.started = event.t_s;
    call.held = event.held_usd;
    return run.turn;
  },
  call_finished(run, event) {
    const call = run.turn.open.get(event.observation.call_id).shift();
    run.move(run.turn, call, event.observation.status);
    call.observation = event.observation;
    call.started = event.observation.started_s;
    call.derived = event.derived;
    call.fault = event.fault;
    return run.turn;
  },
  turn_finished(run, event) {
    run.turn.finished = event.t_s;
    return run.turn;
  },
  run_finished(run, event) {
    run.stop = event.stop;
    run.answer = event.answer;
    run.fault = event.fault;
    run.endedAt = event.t_s;
    run.stated = event.derived?.latency_s ?? null;
    return run.turn ?? undefined;
  },
  graded(run, event) {
    if (event.fault) run.judgeFaults.push(event.fault);
    if (event.derived.judge) run.judge = event.derived.judge;
    if (!event.grade) return;
    run.grades.push(event.grade);
    run.outcome = event.grade.outcome;
  },
};

const first = (run, id) => run.turn.open.get(id)[0];

/** What a turn is doing, in one word. */
export function phase(turn, run) {
  if (turn.finished !== null || run.finished) return "done";
  if (turn.generation === null) return turn.text.content ? "writing" : "thinking";
  return turn.calls.length ? "calling" : "done";
}
