'use strict';
(() => {
  // Sorting: a button in each heading of a sortable table.
  const key = (row, column) => {
    const cell = row.cells[column];
    const number = cell.dataset.key;
    return number === undefined ? cell.textContent.trim() : number === '' ? Infinity : Number(number);
  };
  const compare = (a, b) =>
    typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
  for (const table of document.querySelectorAll('table.sortable')) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => {
        const up = head.getAttribute('aria-sort') !== 'ascending';
        heads.forEach((other) => other.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => (up ? 1 : -1) * compare(key(a, column), key(b, column)));
        table.tBodies[0].append(...rows);
      });
    });
  }

  // Words on what is pointed at: by mouse, by touch, or with the arrow keys in a focused chart.
  const tip = document.createElement('div');
  tip.id = 'tip';
  tip.setAttribute('role', 'status');
  document.body.append(tip);
  const words = new WeakMap();
  let current = null;
  const hide = () => {
    if (current) current.classList.remove('current');
    current = null;
    tip.textContent = '';
  };
  const show = (element) => {
    hide();
    current = element;
    element.classList.add('current');
    tip.textContent = words.get(element);
    const box = element.getBoundingClientRect();
    const left = box.left + box.width / 2 - tip.offsetWidth / 2;
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = Math.max(4, Math.min(left, innerWidth - tip.offsetWidth - 4)) + 'px';
    tip.style.top = (above < 4 ? Math.min(box.bottom + 8, innerHeight - tip.offsetHeight - 4) : above) + 'px';
  };
  for (const chart of document.querySelectorAll('svg.chart[role=img]')) {
    // A title that the browser shows as well would lie under ours.
    const name = chart.querySelector(':scope > title');
    chart.setAttribute('aria-label', name.textContent);
    chart.removeAttribute('aria-labelledby');
    name.remove();
    const parts = [];
    for (const title of chart.querySelectorAll('title')) {
      const part = title.parentNode;
      words.set(part, title.textContent);
      title.remove();
      parts.push(part);
      part.addEventListener('pointerenter', (event) => { if (event.pointerType !== 'touch') show(part); });
      part.addEventListener('pointerleave', (event) => { if (event.pointerType !== 'touch') hide(); });
    }
    if (!parts.length) continue;
    // A finger covers what it points at and leaves at once: the words of the nearest part stay.
    chart.addEventListener('pointerup', (event) => {
      if (event.pointerType !== 'touch') return;
      const away = (part) => {
        const box = part.getBoundingClientRect();
        const beyond = (at, from, to) => Math.max(from - at, 0, at - to);
        return Math.hypot(
          beyond(event.clientX, box.left, box.right),
          beyond(event.clientY, box.top, box.bottom),
        );
      };
      show(parts.reduce((best, part) => (away(part) < away(best) ? part : best)));
    });
    chart.tabIndex = 0;
    chart.addEventListener('focus', () => { if (chart.matches(':focus-visible')) show(parts[0]); });
    chart.addEventListener('blur', hide);
    chart.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === 'Escape') return hide();
      if (!step) return;
      event.preventDefault();
      const at = parts.indexOf(current);
      show(parts[(at + step + parts.length) % parts.length]);
    });
  }
  // A chart that takes the focus is scrolled into view, and its words go with it.
  const follow = () => (current && current.closest('svg') === document.activeElement ? show(current) : hide());
  addEventListener('scroll', follow, { passive: true });
  addEventListener('pointerdown', (event) => { if (event.pointerType === 'touch') hide(); });
  addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll('details')) details.open = true;
  });
})();
