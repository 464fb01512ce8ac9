(() => {
  // Zoom and search over the steps of a recording. Without this the page shows all of them.
  const MOST = 2000;
  const panel = document.querySelector('.zoomable');
  if (!panel) return;
  const view = panel.querySelector('.scroll');
  const inner = view.firstElementChild;
  const lanes = [...panel.querySelectorAll('.lane')];
  const rows = [...document.querySelectorAll('li[data-words]')];
  let zoom = 1;
  const set = (value, centre) => {
    zoom = Math.max(1, Math.min(MOST, value));
    inner.style.width = zoom * 100 + '%';
    view.scrollLeft = centre * view.scrollWidth - view.clientWidth / 2;
    panel.dataset.zoom = String(Math.round(zoom * 100) / 100);
  };
  const middle = () => (view.scrollLeft + view.clientWidth / 2) / view.scrollWidth;
  const button = (text, act) => {
    const made = document.createElement('button');
    made.type = 'button';
    made.textContent = text;
    made.addEventListener('click', act);
    return made;
  };
  const find = document.createElement('input');
  find.type = 'search';
  find.placeholder = 'number, function, “compiled”';
  find.setAttribute('aria-label', 'Find steps by number, function or cause');
  const found = document.createElement('span');
  found.className = 'note';
  found.setAttribute('role', 'status');
  const search = () => {
    const wanted = find.value.trim().toLowerCase();
    const number = /^-?\d+$/.test(wanted);
    const fits = (row) => !wanted || (number ? row.dataset.number === wanted : row.dataset.words.includes(wanted));
    const numbers = new Set();
    for (const row of rows) {
      row.hidden = !fits(row);
      if (!row.hidden) numbers.add(row.dataset.number);
    }
    let first = null;
    for (const lane of lanes) {
      const fit = wanted !== '' && numbers.has(lane.dataset.step);
      lane.classList.toggle('found', fit);
      if (fit && !first) first = lane;
    }
    found.textContent = wanted ? numbers.size + ' of ' + rows.length + ' steps' : '';
    if (!first) return set(1, 0.5);
    const from = Number(first.dataset.from), to = Number(first.dataset.to);
    set(0.5 / Math.max(to - from, 1 / MOST), (from + to) / 2);
  };
  find.addEventListener('input', search);
  view.addEventListener('wheel', (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    set(zoom * (event.deltaY < 0 ? 1.25 : 0.8), middle());
  }, { passive: false });
  const controls = document.createElement('div');
  controls.className = 'controls';
  controls.append(
    find,
    button('Zoom in', () => set(zoom * 2, middle())),
    button('Zoom out', () => set(zoom / 2, middle())),
    button('Whole recording', () => set(1, 0.5)),
    found,
  );
  panel.prepend(controls);
})();
