'use strict';
(() => {
  // The address after # keeps what was chosen, so that it can be sent to somebody.
  const kept = () => new URLSearchParams(location.hash.includes('=') ? location.hash.slice(1) : '');
  const keep = (values) => {
    const text = new URLSearchParams(values.filter(([, value]) => value)).toString();
    history.replaceState(null, '', text ? '#' + text : location.pathname);
  };

  const filter = document.getElementById('filter');
  if (filter) {
    const tiles = [...document.querySelectorAll('.tile')];
    const fields = [...filter.elements].filter((one) => one.name);
    const shown = (tile) =>
      fields.every(({ name, value }) => {
        if (!value) return true;
        if (name === 'text') return tile.textContent.toLowerCase().includes(value.toLowerCase());
        if (name === 'date') return tile.dataset.date >= value;
        return tile.dataset[name].split('\n').includes(value);
      });
    const apply = () => {
      for (const tile of tiles) tile.hidden = !shown(tile);
      const left = tiles.filter((tile) => !tile.hidden).length;
      document.getElementById('found').textContent = `${left} of ${tiles.length}`;
    };
    for (const [name, value] of kept()) {
      const field = fields.find((one) => one.name === name);
      if (field) field.value = value;
    }
    filter.addEventListener('input', () => {
      apply();
      keep(fields.map(({ name, value }) => [name, value]));
    });
    filter.addEventListener('submit', (event) => event.preventDefault());
    filter.hidden = false;
    apply();
  }

  const figures = document.getElementById('figures');
  if (!figures) return;
  const { keys, snapshots } = JSON.parse(figures.textContent);
  const chooser = document.getElementById('chooser');
  const form = chooser.querySelector('form');
  const [before, after, all] = ['before', 'after', 'all'].map((name) => form.elements[name]);
  for (const select of [before, after]) {
    [...snapshots].reverse().forEach(([id, name, suite, machine, when]) => {
      const what = name.startsWith(suite) ? name : `${name} (${suite})`;
      select.append(new Option(`${what}, ${when}, ${machine}`, id));
    });
  }
  // Student's t for 95 %, from the normal quantile by the expansion of Cornish and Fisher.
  const reach = (df) => {
    const z = 1.959964;
    return z + (z ** 3 + z) / (4 * df) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * df ** 2)
      + (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * df ** 3);
  };
  const compared = ([, m1, s1, n1], [, m2, s2, n2, margin]) => {
    const [a, b] = [s1 ** 2 / n1, s2 ** 2 / n2];
    const df = (a + b) ** 2 / (a ** 2 / (n1 - 1) + b ** 2 / (n2 - 1));
    const half = a + b > 0 ? reach(df) * Math.sqrt(a + b) : 0;
    const edge = Math.log1p(margin);
    const [point, low, high] = [m2 - m1, m2 - m1 - half, m2 - m1 + half];
    const verdict = low > edge ? 'slower' : high < -edge ? 'faster'
      : low > -edge && high < edge ? 'equivalent' : 'inconclusive';
    return { point, low, high, verdict, before: Math.exp(m1), after: Math.exp(m2) };
  };
  const percent = (log) => {
    const change = Math.expm1(log) * 100;
    const size = Math.abs(change).toFixed(Math.abs(change) < 99.95 ? 1 : 0);
    return (size === '0.0' ? '' : change < 0 ? '−' : '+') + size + ' %';
  };
  const time = (ns) => {
    for (const [unit, scale] of [['ns', 1], ['µs', 1e3], ['ms', 1e6]]) {
      if (ns < 999.5 * scale) return `${(ns / scale).toPrecision(3)} ${unit}`;
    }
    return `${ns < 999.5e9 ? (ns / 1e9).toPrecision(3) : Math.round(ns / 1e9)} s`;
  };
  const cell = (row, text, kind) => {
    const made = row.insertCell();
    if (kind) made.className = kind;
    made.textContent = text;
    return made;
  };
  const draw = () => {
    const [one, other] = [before, after].map((select) => snapshots.find(([id]) => id === select.value));
    const known = new Map(one[5].map((figure) => [figure[0], figure]));
    const same = one[2] === other[2] ? other[5].filter((figure) => known.has(figure[0])) : [];
    const rows = same
      .map((figure) => ({ key: keys[figure[0]], ...compared(known.get(figure[0]), figure) }))
      .sort((a, b) => Math.abs(b.point) - Math.abs(a.point));
    const relevant = rows.filter((row) => row.verdict === 'slower' || row.verdict === 'faster');
    const body = document.getElementById('changes');
    body.replaceChildren();
    for (const row of all.checked ? [...relevant, ...rows.filter((row) => !relevant.includes(row))] : relevant) {
      const line = body.insertRow();
      const head = document.createElement('th');
      head.scope = 'row';
      head.textContent = row.key[0];
      line.append(head);
      cell(line, row.key[1], 'name');
      cell(line, row.key[2], 'word');
      cell(line, time(row.before), 'n before');
      cell(line, time(row.after), 'n');
      cell(line, `${percent(row.point)} (${percent(row.low)} to ${percent(row.high)})`, 'n change');
      const badge = document.createElement('span');
      badge.className = `badge v-${row.verdict}`;
      badge.textContent = row.verdict;
      cell(line, '', 'word').append(badge);
    }
    body.closest('.scroll').hidden = !body.rows.length;
    const elsewhere = one[3] === other[3] ? '' : ` The machines differ: ${one[3]} and ${other[3]}.`;
    document.getElementById('summary').textContent = rows.length
      ? `${relevant.length} of ${rows.length} results changed by more than their margin.${elsewhere}`
      : 'The two snapshots have no result in common.';
  };
  const wanted = kept();
  // Unless the address names two, the newest that has something in common with one before it.
  const shares = (one, other) => one[2] === other[2] && one[3] === other[3]
    && other[5].some(([key]) => one[5].some(([known]) => known === key));
  let pair = [snapshots[0], snapshots[snapshots.length - 1]];
  for (let newer = snapshots.length - 1; newer > 0; newer -= 1) {
    const older = snapshots.findLastIndex((one, place) => place < newer && shares(one, snapshots[newer]));
    if (older >= 0) {
      pair = [snapshots[older], snapshots[newer]];
      break;
    }
  }
  before.value = wanted.get('before') || pair[0][0];
  after.value = wanted.get('after') || pair[1][0];
  if (before.selectedIndex < 0) before.selectedIndex = 0;
  if (after.selectedIndex < 0) after.selectedIndex = 0;
  form.addEventListener('input', () => {
    draw();
    keep([['before', before.value], ['after', after.value]]);
  });
  form.addEventListener('submit', (event) => event.preventDefault());
  chooser.hidden = false;
  draw();
})();
