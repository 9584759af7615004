// Opens a trace without an index, and records the server's answers until the picture is drawn.

export async function run(input, open) {
  const answers = [],
    w = await open("progress", input.list);
  // record each answer before the page gets it
  await w.page.route("**/api/traces/" + input.id, async (r) => {
    const answer = await r.fetch(),
      { state, progress } = await answer.json();
    answers.push({ state, progress });
    await r.fulfill({ response: answer });
  });
  await w.ready();
  await w.page.evaluate((id) => {
    location.hash = "#t=" + id;
    location.reload();
  }, input.id);
  await w.page.waitForSelector(".plot");
  await w.ready();
  await w.shot("whole");
  return { answers, view: await w.view(), errors: w.errors };
}
